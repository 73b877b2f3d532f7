"""Ends that nobody needs to explain, of programs that look as if something had gone wrong."""

import signal
import time
from typing import Any

from tests.zoo.fault import PYTHON, SCRIPT, Fault, Place
from tests.zoo.faults.held_fresh_exceptions import TORCH, written
from tests.zoo.faults.held_fresh_wrappers import shelled
from tests.zoo.faults.memory import limit
from tests.zoo.scene import Scene


def normal(name: str, body: str, **more: Any) -> Fault:
    """It ends well."""
    return written(name, body, cause=None, **{"ends": (0,), "state": "finished", **more})


def poke(scene: Scene) -> None:
    """Somebody attaches to it and lets it go, as a profiler does, by stopping it for moments."""
    scene.await_mark("listening")
    for _ in range(3):
        scene.kill(signal.SIGSTOP)
        time.sleep(0.1)
        scene.kill(signal.SIGCONT)
        time.sleep(0.2)


FAULTS = [
    normal(
        "reads far more than its cgroup has room for",
        """
        with open("shard.bin", "wb") as file:
            file.truncate(600 << 20)
        begin()
        with open("shard.bin", "rb") as file:
            while file.read(1 << 20):
                pass
        log(loss=0.1)
        """,
        place=limit(180),
    ),
    normal(
        "leaves a data loader in the middle of an epoch",
        """
        import torch
        begin()
        data = torch.utils.data.TensorDataset(torch.zeros(4000, 8))
        loader = torch.utils.data.DataLoader(data, batch_size=4, num_workers=2, persistent_workers=True)
        for epoch in range(2):
            for number, (batch,) in enumerate(loader):
                log(size=len(batch))
                if number == 5:
                    break
        """,
        needs=TORCH,
    ),
    normal(
        "tries three configurations of which two fail",
        """
        begin()
        for lr in ("0.1", "1e-", "nan"):
            try:
                value = float(lr)
                assert value == value, "loss is NaN"
                log(loss=value)
            except (ValueError, AssertionError):
                print(f"[sweep] trial lr={lr} FAILED", file=sys.stderr)
                traceback.print_exc()
        """,
    ),
    normal(
        "meets its limit of open files and raises it",
        """
        import resource
        begin()
        kept = []
        for number in range(400):
            try:
                kept.append(open("/dev/null"))
            except OSError as error:
                print("raising the limit:", error)
                soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
                resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        log(kept=len(kept))
        """,
        place=Place(limits=("--nofile=120:4096",)),
    ),
    normal(
        "hears that its CPU time is nearly over and is done in time",
        """
        import resource
        begin()
        told = []
        signal.signal(signal.SIGXCPU, lambda *_: told.append(1))
        used = int(sum(resource.getrusage(resource.RUSAGE_SELF)[:2])) + 1
        resource.setrlimit(resource.RLIMIT_CPU, (used, used + 60))
        while not told:
            sum(range(1000))
        print("CPU time limit exceeded soon, saving")
        log(loss=0.1)
        """,
    ),
    normal(
        "is called back from C with errors that nobody minds",
        """
        begin()
        COMPARE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_int))
        def compare(a, b):
            raise MemoryError("out of memory")
        values = (ctypes.c_int * 4)(4, 3, 2, 1)
        ctypes.CDLL(None).qsort(values, 4, ctypes.sizeof(ctypes.c_int), COMPARE(compare))
        log(loss=0.1)
        """,
    ),
    normal(
        "is started by a shell in which something faulted before",
        """
        begin()
        for step in range(20):
            log(loss=1 / (step + 1))
        """,
        command=shelled(
            f"bash -c 'kill -SEGV $$'; bash -c 'exit 137'; echo 'Out of memory: Killed'; {PYTHON} {SCRIPT}"
        ),
    ),
    normal(
        "skips steps that overflow up to its last one",
        """
        begin()
        for step in range(120):
            overflow = step % 40 == 39
            log(loss=0.3, grad_norm=float("inf") if overflow else 1.0, scale=2.0 ** (16 - step // 40))
        print("OVERFLOW! Rank 0 Skipping step. Attempted loss scale: 16384, reducing to 8192")
        """,
    ),
    normal(
        "waits for a locked database until it is free",
        """
        import sqlite3
        begin()
        holder = sqlite3.connect("study.db", isolation_level=None, check_same_thread=False)
        holder.execute("CREATE TABLE trial (value)")
        holder.execute("BEGIN EXCLUSIVE")
        threading.Timer(1.0, holder.execute, ("COMMIT",)).start()
        study = sqlite3.connect("study.db", timeout=0.2)
        for attempt in range(30):
            try:
                study.execute("INSERT INTO trial VALUES (1)")
                break
            except sqlite3.OperationalError as error:
                print("retrying:", error)
        study.commit()
        """,
    ),
    # Whoever it leaves behind is no longer of any importance to it.
    normal(
        "leaves an uploader behind that aborts later",
        """
        begin()
        log(loss=0.1)
        uploader = "import os, time; time.sleep(1.5); os.abort()"
        subprocess.Popen([sys.executable, "-c", uploader], start_new_session=True, stderr=subprocess.DEVNULL)
        """,
    ),
    normal(
        "has tasks whose errors nobody asked for",
        """
        async def fetch():
            raise ConnectionResetError(104, "Connection reset by peer")
        async def main():
            tasks = [asyncio.create_task(fetch()) for _ in range(3)]
            await asyncio.sleep(0.3)
        begin()
        asyncio.run(main())
        log(loss=0.1)
        """,
    ),
    normal(
        "reserves a terabyte of addresses and uses a page of them",
        """
        import mmap
        begin()
        arena = mmap.mmap(-1, 1 << 40, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000)
        arena[12345] = 1
        log(loss=0.1)
        """,
    ),
    normal(
        "works in a directory that it removes",
        """
        import tempfile
        begin()
        with tempfile.TemporaryDirectory() as scratch:
            os.chdir(scratch)
            open("cache.bin", "wb").write(bytes(1 << 20))
        log(loss=0.1)
        sys.exit(False)
        """,
    ),
    normal(
        "is stopped for moments by somebody who looks at it, and has tools that are ended in time",
        """
        begin()
        mark("listening")
        print(subprocess.run(["timeout", "1", "sleep", "20"]).returncode)
        print(subprocess.run(["timeout", "-s", "KILL", "1", "sleep", "20"]).returncode)
        for step in range(20):
            log(loss=0.2); time.sleep(0.05)
        """,
        strike=poke,
    ),
    normal(
        "keeps children that died and does not ask how",
        """
        begin()
        for number in (signal.SIGKILL, signal.SIGSEGV, signal.SIGTERM):
            pid = os.fork()
            if pid == 0:
                signal.signal(number, signal.SIG_DFL) if number != signal.SIGKILL else None
                os.kill(os.getpid(), number)
        time.sleep(0.5)
        for step in range(20):
            log(loss=0.2); time.sleep(0.02)
        """,
    ),
    normal(
        "trains with gloo as the only rank",
        """
        import torch.distributed as dist
        import torch
        begin()
        dist.init_process_group("gloo", init_method=f"file://{os.getcwd()}/store", rank=0, world_size=1)
        value = torch.ones(1)
        dist.all_reduce(value)
        log(loss=value.item())
        dist.destroy_process_group()
        """,
        needs=TORCH,
    ),
]
