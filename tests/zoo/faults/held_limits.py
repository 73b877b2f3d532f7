"""Limits on files, processes and CPU time, met by other routes, and disks that are full or closed."""

import subprocess
from typing import Any

from tests.zoo.fault import Fault, Place
from tests.zoo.scene import Scene

FILES = "too-many-open-files"
SMALL_DISK = Place(disks=(("disk", "size=6m"),))


def limited(name: str, body: str, *, cause: str, place: Place = SMALL_DISK, **more: Any) -> Fault:
    """A program that meets a limit and fails."""
    program = f"import os, subprocess, sys, time\nfrom training import begin, log, mark, wait_for\nbegin()\n{body}\n"
    usual = {"ends": (1,), "state": "failed"}
    return Fault(name=name, program=program, cause=cause, place=place, **{**usual, **more})


def close_disk(scene: Scene) -> None:
    scene.await_mark("opened")
    enter = ["nsenter", "-t", str(scene.pid), "-m"]
    subprocess.run([*enter, "mount", "-o", "remount,ro", str(scene.stage / "disk")], check=True)
    (scene.stage / "closed").touch()


FORKED = "context = multiprocessing.get_context('fork')\n"

FAULTS = [
    limited(
        "makes more sockets than it may",
        "import socket\npairs = []\nwhile True:\n    pairs.append(socket.socketpair())",
        cause=FILES,
        place=Place(limits=("--nofile=150",)),
    ),
    limited(
        "makes more pipes than it may",
        "pipes = [os.pipe() for _ in range(2000)]",
        cause=FILES,
        place=Place(limits=("--nofile=256",)),
    ),
    limited(
        "starts programs with more pipes than it may have",
        "children = [subprocess.Popen(['sleep', '5'], stdout=-1, stderr=-1, stdin=-1) for _ in range(60)]",
        cause=FILES,
        place=Place(limits=("--nofile=110",)),
    ),
    limited(
        "has a pool of which a worker opens too many files",
        "import concurrent.futures, multiprocessing\n"
        "def work(number):\n    return len([open('/dev/null') for _ in range(1000)])\n"
        "with concurrent.futures.ProcessPoolExecutor(2, mp_context=multiprocessing.get_context('fork')) as pool:\n"
        "    print(sum(pool.map(work, range(4))))",
        cause=FILES,
        place=Place(limits=("--nofile=200",)),
    ),
    limited(
        "cannot open a shard for too many files and says it in its own words",
        "class ShardError(Exception):\n    pass\n"
        "shards = []\ntry:\n    while True:\n        shards.append(open('/dev/null'))\n"
        "except OSError as error:\n    raise ShardError('shard 17 is broken') from error",
        cause=FILES,
        place=Place(limits=("--nofile=180",)),
    ),
    limited(
        "has a pool of more threads than its user may have",
        "import concurrent.futures\npool = concurrent.futures.ThreadPoolExecutor(400)\n"
        "list(pool.map(lambda _: time.sleep(3), range(400)))",
        cause="too-many-processes",
        place=Place(is_user=True, limits=("--nproc=80",)),
    ),
    limited(
        "forks more than its cgroup may have",
        "for _ in range(200):\n    if os.fork() == 0:\n        time.sleep(4); os._exit(0)",
        cause="too-many-processes",
        place=Place(tasks=50),
    ),
    limited(
        "has a worker that uses up its CPU time",
        "import multiprocessing, resource\n"
        "def work():\n    resource.setrlimit(resource.RLIMIT_CPU, (1, 60))\n    while True:\n        pass\n"
        f"{FORKED}worker = context.Process(target=work)\nworker.start()\nworker.join()\n"
        "if worker.exitcode:\n    raise RuntimeError('evaluation did not finish')",
        cause="cpu-time-limit",
        place=Place(),
    ),
    limited(
        "copies a checkpoint to a full disk",
        "import shutil\nopen('model.bin', 'wb').write(bytes(9 << 20))\nshutil.copy('model.bin', 'disk/model.bin')",
        cause="disk-full",
    ),
    limited(
        "pickles to a full disk",
        "import pickle\nwith open('disk/state.pkl', 'wb') as file:\n"
        "    pickle.dump([os.urandom(1 << 20) for _ in range(9)], file)",
        cause="disk-full",
    ),
    limited(
        "has its temporary files on a full disk",
        "import tempfile\ntempfile.tempdir = os.path.abspath('disk')\n"
        "with tempfile.NamedTemporaryFile() as file:\n    while True:\n        file.write(os.urandom(100_000))",
        cause="disk-full",
    ),
    limited(
        "packs its results on a full disk",
        "import zipfile\nwith zipfile.ZipFile('disk/results.zip', 'w') as archive:\n"
        "    for number in range(100):\n        archive.writestr(f'{number}.bin', os.urandom(200_000))",
        cause="disk-full",
    ),
    # numpy tells how many elements it wanted to write, and no more.
    limited(
        "writes a raw array to a full disk",
        "import numpy\nnumpy.zeros(2 << 20).tofile('disk/features.raw')",
        cause="disk-full",
    ),
    limited(
        "runs cp, which finds the disk full",
        "open('model.bin', 'wb').write(bytes(9 << 20))\nsubprocess.run(['cp', 'model.bin', 'disk/'], check=True)",
        cause="disk-full",
    ),
    limited(
        "makes directories until there are no inodes left",
        "for number in range(5000):\n    os.mkdir(f'disk/{number}')",
        cause="disk-full",
        place=Place(disks=(("disk", "size=6m,nr_inodes=300"),)),
    ),
    limited(
        "skips a checkpoint for a full disk and misses a key later",
        "try:\n    open('disk/checkpoint.bin', 'wb').write(bytes(9 << 20))\n"
        "except OSError as error:\n    print('checkpoint skipped:', error)\n"
        "for step in range(40):\n    log(loss=1 / (step + 1)); time.sleep(0.05)\n{}['scheduler']",
        cause="uncaught-exception",
    ),
    # Nothing broke here, but a disk that closes like this looks the same.
    limited(
        "saves to a disk that became read-only",
        "open('disk/first.bin', 'wb').close()\nmark('opened')\nwait_for('closed')\nopen('disk/second.bin', 'wb')",
        cause="storage-fault",
        also=("uncaught-exception",),
        strike=close_disk,
    ),
    limited(
        "has a map of a file on a disk that is full, in a worker",
        "import mmap, multiprocessing\n"
        "def work():\n    file = open('disk/cache.bin', 'w+b'); file.truncate(32 << 20)\n"
        "    cache = mmap.mmap(file.fileno(), 0)\n    cache[:] = bytes(32 << 20)\n"
        f"{FORKED}worker = context.Process(target=work)\nworker.start()\nworker.join()\n"
        "if worker.exitcode == -7:\n    raise RuntimeError('caching failed')",
        cause="disk-full",
        # The worker dies of a bus error because there is no room.
        also=("bus-error",),
    ),
]
