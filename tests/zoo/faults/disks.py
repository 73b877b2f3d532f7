"""Disks that are full; what is raised then does not always say so."""

import subprocess
from typing import Any

from tests.zoo.fault import PYTHON, SCRIPT, Fault, Place
from tests.zoo.scene import Scene

SMALL_DISK = Place(disks=(("disk", "size=4m"),))


def full(name: str, body: str, *, cause: str = "disk-full", place: Place = SMALL_DISK, **more: Any) -> Fault:
    """A program that saves to `disk`, below its working directory, until there is no more room."""
    program = f"import os, subprocess, time\nfrom training import begin, log, mark, wait_for\nbegin()\n{body}\n"
    return Fault(name=name, program=program, state="failed", cause=cause, place=place, **{"ends": (1,), **more})


def close_disk(scene: Scene) -> None:
    scene.await_mark("opened")
    enter = ["nsenter", "-t", str(scene.pid), "-m"]
    subprocess.run([*enter, "mount", "-o", "remount,ro", str(scene.stage / "disk")], check=True)
    (scene.stage / "closed").touch()


FAULTS = [
    full(
        "writes a checkpoint to a full disk",
        "with open('disk/checkpoint.bin', 'wb') as file:\n    file.write(bytes(16 << 20))",
    ),
    full(
        "appends to a file until the disk is full",
        "file = open('disk/predictions.csv', 'w')\nwhile True:\n    file.write('0.1,0.2,0.3\\n' * 1000); file.flush()",
    ),
    full(
        "saves an array with numpy to a full disk",
        "import numpy\nnumpy.save('disk/features.npy', numpy.zeros(4 << 20))",
    ),
    full(
        "saves a model with torch to a full disk",
        "import torch\ntorch.save(torch.nn.Linear(2048, 2048).state_dict(), 'disk/model.pt')",
        needs=("torch",),
    ),
    full(
        "makes more files than the disk has inodes",
        "for number in range(1000):\n    open(f'disk/sample-{number}.txt', 'w').close()",
        place=Place(disks=(("disk", "size=4m,nr_inodes=100"),)),
    ),
    full(
        "writes to a database on a full disk",
        "import sqlite3\n"
        "database = sqlite3.connect('disk/trials.db')\n"
        "database.execute('CREATE TABLE trial (value BLOB)')\n"
        "database.execute('INSERT INTO trial VALUES (?)', (bytes(8 << 20),))\n"
        "database.commit()",
    ),
    full(
        "copies a checkpoint to a full disk",
        "import shutil\nopen('model.bin', 'wb').write(bytes(9 << 20))\nshutil.copy('model.bin', 'disk/model.bin')",
    ),
    full(
        "pickles to a full disk",
        "import pickle\nwith open('disk/state.pkl', 'wb') as file:\n"
        "    pickle.dump([os.urandom(1 << 20) for _ in range(9)], file)",
    ),
    full(
        "has its temporary files on a full disk",
        "import tempfile\ntempfile.tempdir = os.path.abspath('disk')\n"
        "with tempfile.NamedTemporaryFile() as file:\n    while True:\n        file.write(os.urandom(100_000))",
    ),
    full(
        "packs its results on a full disk",
        "import zipfile\nwith zipfile.ZipFile('disk/results.zip', 'w') as archive:\n"
        "    for number in range(100):\n        archive.writestr(f'{number}.bin', os.urandom(200_000))",
    ),
    # numpy tells how many elements it wanted to write, and no more.
    full(
        "writes a raw array to a full disk",
        "import numpy\nnumpy.zeros(2 << 20).tofile('disk/features.raw')",
    ),
    full(
        "runs cp, which finds the disk full",
        "open('model.bin', 'wb').write(bytes(9 << 20))\nsubprocess.run(['cp', 'model.bin', 'disk/'], check=True)",
    ),
    full(
        "makes directories until there are no inodes left",
        "for number in range(5000):\n    os.mkdir(f'disk/{number}')",
        place=Place(disks=(("disk", "size=6m,nr_inodes=300"),)),
    ),
    full(
        "skips a checkpoint for a full disk and misses a key later",
        "try:\n    open('disk/checkpoint.bin', 'wb').write(bytes(9 << 20))\n"
        "except OSError as error:\n    print('checkpoint skipped:', error)\n"
        "for step in range(40):\n    log(loss=1 / (step + 1)); time.sleep(0.05)\n{}['scheduler']",
        cause="uncaught-exception",
    ),
    # Nothing broke here, but a disk that closes like this looks the same.
    full(
        "saves to a disk that became read-only",
        "open('disk/first.bin', 'wb').close()\nmark('opened')\nwait_for('closed')\nopen('disk/second.bin', 'wb')",
        cause="storage-fault",
        also=("uncaught-exception",),
        strike=close_disk,
    ),
    full(
        "has a map of a file on a disk that is full, in a worker",
        "import mmap, multiprocessing\n"
        "def work():\n    file = open('disk/cache.bin', 'w+b'); file.truncate(32 << 20)\n"
        "    cache = mmap.mmap(file.fileno(), 0)\n    cache[:] = bytes(32 << 20)\n"
        "worker = multiprocessing.get_context('fork').Process(target=work)\nworker.start()\nworker.join()\n"
        "if worker.exitcode == -7:\n    raise RuntimeError('caching failed')",
        # The worker dies of a bus error because there is no room.
        also=("bus-error",),
    ),
    # Nobody sees what it prints any more, its last words included.
    full(
        "prints into a file on a disk that becomes full",
        "for step in range(2000):\n    print('step', step, 'x' * 5000, flush=True)",
        command=("bash", "-c", f"{PYTHON} {SCRIPT} > disk/train.log 2>&1"),
        ends=(1, 120),
    ),
    full(
        "packs a directory with tar, which finds the disk full",
        "os.mkdir('samples')\nfor number in range(12):\n"
        "    open(f'samples/{number}.bin', 'wb').write(os.urandom(1 << 20))\n"
        "subprocess.run(['tar', '-cf', 'disk/samples.tar', 'samples'], check=True)",
    ),
    # What it hears is that nobody reads from its pipe any more.
    full(
        "writes through gzip, which leaves when the disk is full",
        "with open('disk/corpus.gz', 'wb') as file:\n"
        "    packer = subprocess.Popen(['gzip', '-1'], stdin=subprocess.PIPE, stdout=file)\n"
        "    for _ in range(400):\n        packer.stdin.write(os.urandom(100_000))\n        packer.stdin.flush()",
    ),
]
