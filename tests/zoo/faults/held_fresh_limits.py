"""Disks, files, threads and CPU time that are used up, as tools, native libraries and neighbours let it be known."""

import signal
import subprocess
from typing import Any

from tests.zoo.fault import PYTHON, SCRIPT, Fault, Place
from tests.zoo.faults.held_fresh_exceptions import TORCH, failing
from tests.zoo.faults.held_fresh_memory import lowered
from tests.zoo.faults.held_fresh_native import BUILD
from tests.zoo.faults.held_fresh_wrappers import shelled
from tests.zoo.scene import Scene

FULL, FILES, TASKS, CPU = "disk-full", "too-many-open-files", "too-many-processes", "cpu-time-limit"
SMALL_DISK = Place(disks=(("disk", "size=6m"),))


def full(name: str, body: str, **more: Any) -> Fault:
    """It saves to `disk`, below its working directory, until there is no more room."""
    return failing(name, body, cause=FULL, **{"place": SMALL_DISK, **more})


def fill_disk(scene: Scene) -> None:
    """Somebody else takes what is left of the disk."""
    scene.await_mark("writing")
    enter = ["nsenter", "-t", str(scene.pid), "-m"]
    subprocess.run(
        [*enter, "dd", "if=/dev/zero", f"of={scene.stage}/disk/core.4711", "bs=64k"], check=False, capture_output=True
    )


READERS = """
#include <chrono>
#include <thread>
#include <vector>
extern "C" void work() {
    std::vector<std::thread> readers;
    for (int i = 0; i < 200; i++)
        readers.emplace_back([] { std::this_thread::sleep_for(std::chrono::seconds(5)); });
}
"""

FAULTS = [
    full(
        "appends a little at a time until a neighbour takes the rest of the disk",
        """
        begin()
        mark("writing")
        with open("disk/metrics.jsonl", "w", buffering=1) as file:
            for step in range(2000):
                file.write('{"loss": 0.51, "step": %d}' % step + " " * 400 + "\\n")
                log(loss=0.5); time.sleep(0.02)
        """,
        strike=fill_disk,
    ),
    full(
        "writes shards of a web data set to a full disk",
        """
        import io, tarfile
        begin()
        with tarfile.open("disk/shard-000000.tar", "w") as shard:
            for number in range(400):
                entry = tarfile.TarInfo(f"{number:06d}.jpg")
                entry.size = 50_000
                shard.addfile(entry, io.BytesIO(os.urandom(entry.size)))
        """,
    ),
    full(
        "saves in the old format of torch to a full disk",
        """
        import torch
        begin()
        state = {"model": torch.randn(3 << 20), "epoch": 4}
        torch.save(state, "disk/epoch-4.pt", _use_new_zipfile_serialization=False)
        """,
        needs=TORCH,
    ),
    full(
        "has a thread that saves, and hears of its failure at the next step",
        """
        begin()
        def save(step):
            with open(f"disk/step-{step}.bin", "wb") as file:
                file.write(bytes(2 << 20))
        with concurrent.futures.ThreadPoolExecutor(1) as saver:
            pending = None
            for step in range(8):
                log(loss=0.5); time.sleep(0.05)
                if pending:
                    pending.result()
                pending = saver.submit(save, step)
        """,
    ),
    full(
        "caches what its data loader decodes until the disk is full",
        """
        import torch
        class Cached(torch.utils.data.Dataset):
            def __len__(self):
                return 64
            def __getitem__(self, index):
                sample = torch.full((50_000,), float(index))
                with open(f"disk/{index}.cache", "wb") as file:
                    file.write(sample.numpy().tobytes())
                return sample
        begin()
        for batch in torch.utils.data.DataLoader(Cached(), batch_size=4, num_workers=2):
            log(size=len(batch))
        """,
        needs=TORCH,
    ),
    full(
        "lost a pool to a fault, went on without it, and cannot save now",
        """
        begin()
        try:
            with concurrent.futures.ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("fork")) as pool:
                pool.submit(os.abort).result()
        except concurrent.futures.process.BrokenProcessPool:
            logging.exception("augmentation in the main process from here on")
        for step in range(60):
            log(loss=0.5); time.sleep(0.04)
        with open("disk/last.ckpt", "wb") as file:
            file.write(bytes(20 << 20))
        """,
    ),
    failing(
        "opens a log for every trial and closes none",
        """
        begin()
        for trial in range(400):
            logger = logging.getLogger(f"trial-{trial}")
            logger.addHandler(logging.FileHandler(f"trial-{trial}.log"))
            logger.warning("loss 0.5")
        """,
        cause=FILES,
        place=Place(limits=("--nofile=190",)),
    ),
    failing(
        "keeps every archive of arrays open, in threads, under a limit of its shell",
        """
        import numpy
        numpy.savez("features.npz", x=numpy.zeros(8), y=numpy.ones(8))
        begin()
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            archives = list(pool.map(lambda _: numpy.load("features.npz"), range(500)))
        """,
        cause=FILES,
        command=shelled(f"ulimit -n 150; exec {PYTHON} {SCRIPT}"),
    ),
    failing(
        "opens files while somebody lowers how many it may have",
        """
        begin()
        kept = [open("/dev/null") for _ in range(80)]
        mark("working")
        for step in range(400):
            with open(__file__) as file:
                log(size=len(file.read())); time.sleep(0.02)
        """,
        cause=FILES,
        strike=lowered("--nofile=64:64"),
    ),
    # Refused a thread, C++ throws and nobody catches: one is the reason, the other the end.
    failing(
        "has a library of C++ that may not start its threads",
        BUILD.format(source=READERS, options=[]) + "begin()\nload().work()\n",
        cause=TASKS,
        also=("aborted",),
        ends=(-signal.SIGABRT,),
        state="crashed",
        place=Place(tasks=70),
        needs=("g++",),
    ),
    failing(
        "runs an evaluation under a limit of CPU time, which it uses up",
        """
        begin()
        subprocess.run(["bash", "-c", "ulimit -S -t 1; exec $0 -c 'while True: pass'", sys.executable], check=True)
        """,
        cause=CPU,
    ),
]
