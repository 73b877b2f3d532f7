"""Workers, programs and ranks in the hands of libraries that have words of their own for a death."""

import signal
from collections.abc import Callable
from typing import Any

from tests.zoo.fault import MIB, Fault, Place
from tests.zoo.faults.ranks import BY_HAND, COLLECTIVE, SOCKETS, TORCHRUN
from tests.zoo.faults.workers import FAULTING, GUARDED, failing, inline
from tests.zoo.scene import Scene

SEGMENTATION, RAISED, KILLED = "segmentation-fault", "uncaught-exception", "killed"

# What torch.multiprocessing.spawn makes of the end of a process.
SPAWNED = """
import ctypes, os, signal, sys, time
import torch

def work(index):
    time.sleep(0.5 + index)
    if index == 1:
        {fate}

if __name__ == "__main__":
    from training import begin
    begin()
    torch.multiprocessing.spawn(work, nprocs=2)
"""

LOADER = """
import ctypes, faulty, os, signal, sys, time
import torch
from training import begin, log, mark

class Stream(torch.utils.data.IterableDataset):
    def __iter__(self):
        for number in range(100):
            if number == 30:
                {fate}
            yield torch.full((2,), number)

begin()
for batch in torch.utils.data.DataLoader(Stream(), batch_size=4, num_workers=2, prefetch_factor=2):
    log(size=len(batch))
"""


def ranks(name: str, program: str, *, command: tuple[str, ...], **more: Any) -> Fault:
    """Seen from outside it is the launcher that ends, with 1."""
    usual = {"ends": (1,), "run_state": "failed", "processes": 2, "takes_s": 120.0}
    return Fault(name=name, program=program, command=command, **{**usual, **more})


def strike_worker(number: int) -> Callable[[Scene], None]:
    """Sends a signal to the process that the program calls its worker."""

    def strike(scene: Scene) -> None:
        scene.kill(number, scene.pid_of("worker"))

    return strike


TORCH = ("torch",)
# Rank 0 suffers in place of rank 1.
FIRST = ("rank == 1 and", "rank == 0 and")

FAULTS = [
    failing(
        "streams from a data loader of which the workers abort",
        LOADER.format(fate="os.abort()"),
        cause="aborted",
        needs=TORCH,
    ),
    failing(
        "streams from a data loader of which the workers execute garbage",
        LOADER.format(fate="faulty.execute_garbage()"),
        cause="illegal-instruction",
        needs=TORCH,
    ),
    failing(
        "streams from a data loader whose decoder raises in one worker",
        LOADER.format(fate="raise UnicodeDecodeError('utf-8', b'\\xff', 0, 1, 'invalid start byte')"),
        cause=RAISED,
        needs=TORCH,
    ),
    failing(
        "spawns processes with torch of which one faults",
        SPAWNED.format(fate="ctypes.string_at(0)"),
        cause=SEGMENTATION,
        needs=TORCH,
    ),
    failing(
        "spawns processes with torch of which one raises",
        SPAWNED.format(fate="raise ValueError('rank 1 has no data')"),
        cause=RAISED,
        needs=TORCH,
    ),
    failing(
        "spawns processes with torch of which one kills itself",
        SPAWNED.format(fate="os.kill(os.getpid(), signal.SIGKILL)"),
        cause=KILLED,
        needs=TORCH,
    ),
    # A process that leaves with a code of its own is as well described by one word as by the other.
    failing(
        "spawns processes with torch of which one leaves with 7",
        SPAWNED.format(fate="os._exit(7)"),
        cause="worker-died",
        also=("nonzero-exit",),
        needs=TORCH,
    ),
    failing(
        "has a spawned pool of which a worker kills itself",
        GUARDED.format(fate="os.kill(os.getpid(), signal.SIGKILL)", method="spawn"),
        cause=KILLED,
    ),
    # The pool takes what the worker wanted to leave with for its result, and hands it on.
    failing(
        "has a pool of which a task calls sys.exit(6)",
        GUARDED.format(fate="sys.exit(6)", method="fork"),
        cause="nonzero-exit",
        ends=(6,),
    ),
    inline(
        "reads from a program that faults before it is through",
        f"reader = subprocess.Popen([sys.executable, '-c', '{FAULTING}'], stdout=subprocess.PIPE)\n"
        "line = reader.stdout.readline()\nif not line:\n    raise EOFError('expected a header, got nothing')",
        cause=SEGMENTATION,
    ),
    inline(
        "has a worker that reads a map which shrank",
        "def work():\n    import mmap\n    file = open('cache.bin', 'w+b'); file.truncate(1 << 20)\n"
        "    cache = mmap.mmap(file.fileno(), 0)\n    file.truncate(0)\n    print(cache[70_000])\n"
        "worker = multiprocessing.get_context('fork').Process(target=work)\nworker.start()\nworker.join()\n"
        "if worker.exitcode:\n    raise RuntimeError(f'worker 0: exit code {worker.exitcode}')",
        cause="bus-error",
    ),
    ranks(
        "has a rank 0 that raises while rank 1 sees a connection close",
        SOCKETS.format(fate="{}['warmup_steps']").replace(*FIRST),
        command=BY_HAND,
        state="failed",
        cause=RAISED,
    ),
    ranks(
        "has a rank that takes all memory",
        SOCKETS.format(fate="held = [bytearray(b'x') * (4 << 20) for _ in range(200)]"),
        command=BY_HAND,
        state="crashed",
        cause="cgroup-out-of-memory",
        place=Place(memory_bytes=320 * MIB),
    ),
    ranks(
        "has a rank under torchrun that faults",
        COLLECTIVE.format(fate="import ctypes; ctypes.string_at(0)"),
        command=TORCHRUN,
        state="crashed",
        cause=SEGMENTATION,
        needs=TORCH,
    ),
    ranks(
        "has a rank 0 under torchrun that misses a key",
        COLLECTIVE.format(fate="{}['max_steps']").replace(*FIRST),
        command=TORCHRUN,
        state="failed",
        cause=RAISED,
        needs=TORCH,
    ),
    ranks(
        "has ranks under torchrun of which one does not come to the barrier",
        COLLECTIVE.format(fate="time.sleep(60)").replace(
            "dist.all_reduce(value)", "dist.monitored_barrier(timeout=datetime.timedelta(seconds=4))"
        ),
        command=TORCHRUN,
        state="failed",
        cause="collective-timeout",
        needs=TORCH,
    ),
    ranks(
        "has ranks under torchrun of which one broadcasts too late",
        COLLECTIVE.format(fate="time.sleep(60)")
        .replace("dist.all_reduce(value)", "dist.broadcast(value, src=0)")
        .replace(*FIRST),
        command=TORCHRUN,
        state="failed",
        cause="collective-timeout",
        needs=TORCH,
    ),
    ranks(
        "has a rank under torchrun that is terminated",
        COLLECTIVE.format(fate="mark('worker', os.getpid()); time.sleep(30)"),
        command=TORCHRUN,
        state="crashed",
        cause="terminated",
        strike=strike_worker(signal.SIGTERM),
        needs=TORCH,
    ),
]
