"""Deaths on a GPU. They take all of its memory: `make ZOO_ARGS='--only gpu: --lanes 1' zoo` where there is one."""

import signal
import textwrap

from tests.zoo.fault import Fault
from tests.zoo.scene import Scene

BEGIN = """
import time
from training import begin, log, stay
import torch
here = torch.zeros(1, device="cuda")
begin()
time.sleep(1)  # as long as a sidecar needs to see who holds what
"""
KERNEL = """
import cupy
kernel = cupy.RawKernel(r'extern "C" __global__ void fault(long long at) { %s; }', "fault")
kernel((1,), (1,), (0x10,))
torch.cuda.synchronize()
"""


def fails(name: str, body: str, *, cause: str, also: tuple[str, ...] = (), needs: tuple[str, ...] = ()) -> Fault:
    """A training that fails on the GPU."""
    return Fault(
        name=name,
        program=BEGIN + textwrap.dedent(body),
        ends=(1,),
        state="failed",
        cause=cause,
        also=also,
        without_client=(cause, *also, "uncaught-exception") if cause == "diverged" else (),
        needs=("gpu", "torch", *needs),
        takes_s=60.0,
    )


def kill(scene: Scene) -> None:
    """Somebody's `kill -9`."""
    scene.await_mark("staying", within_s=40.0)
    scene.kill(signal.SIGKILL)


UNCAUGHT = "uncaught-exception"
LOADER = """
class Rows(torch.utils.data.Dataset):
    def __len__(self):
        return 4
    def __getitem__(self, index):
        return %s
for batch in torch.utils.data.DataLoader(Rows(), num_workers=1, multiprocessing_context="fork"):
    log(loss=1.0)
"""
FULL = 'torch.empty(1 << 44, dtype=torch.uint8, device="cuda")'
CAUGHT = f"try:\n    {FULL}\nexcept torch.OutOfMemoryError as error:\n    print('caught', error)\n"

FAULTS = [
    fails("asks a GPU for more than it has", FULL, cause="gpu-out-of-memory"),
    fails(
        "keeps every batch on the GPU",
        """
        kept = []
        while True:
            kept.append(torch.ones(1 << 32, dtype=torch.uint8, device="cuda"))
            log(loss=1.0)
        """,
        cause="gpu-out-of-memory",
    ),
    fails(
        "shares the GPU with a process that took most of it",
        """
        import subprocess, sys
        free, total = torch.cuda.mem_get_info()
        hold = f"import torch, time; x = torch.ones({free - (8 << 30)}, dtype=torch.uint8, device='cuda')"
        other = subprocess.Popen([sys.executable, "-c", hold + "; print(1, flush=True); time.sleep(60)"],
                                 stdout=subprocess.PIPE, start_new_session=True)
        other.stdout.readline()
        time.sleep(2)
        try:
            torch.empty(16 << 30, dtype=torch.uint8, device="cuda")
        finally:
            other.kill()
        """,
        cause="gpu-out-of-memory",
    ),
    fails(
        "leaves no memory for cuBLAS",
        """
        size, kept = 8 << 30, []
        while size > 1 << 20:
            try:
                kept.append(torch.empty(size, dtype=torch.uint8, device="cuda"))
            except torch.OutOfMemoryError:
                size //= 2
        here.view(1, 1) @ here.view(1, 1)
        """,
        cause="gpu-out-of-memory",
    ),
    fails(
        "asks CuPy for more than there is",
        "import cupy\ncupy.empty(1 << 44, dtype=cupy.uint8)",
        cause="gpu-out-of-memory",
        needs=("cupy",),
    ),
    fails(
        "asks JAX for more than there is",
        "import jax.numpy as jnp\njnp.ones((1 << 38,), dtype=jnp.float32).block_until_ready()",
        cause="gpu-out-of-memory",
        needs=("jax",),
    ),
    fails(
        "looks up a row that its embedding does not have",
        """
        rows = torch.nn.Embedding(10, 4).cuda()
        rows(torch.tensor([3, 99], device="cuda"))
        torch.cuda.synchronize()
        """,
        cause="gpu-program-fault",
    ),
    fails(
        "gives a class that its loss does not have",
        """
        loss = torch.nn.functional.cross_entropy(torch.zeros(2, 3, device="cuda"), torch.tensor([0, 3], device="cuda"))
        print(loss.item())
        """,
        cause="gpu-program-fault",
    ),
    fails(
        "writes to an address that is not its own",
        KERNEL % "*(int *)at = 1",
        cause="gpu-program-fault",
        needs=("cupy",),
    ),
    fails("traps in a kernel", KERNEL % 'asm("trap;")', cause="gpu-program-fault", needs=("cupy",)),
    fails(
        "raises at a loss that the GPU made NaN",
        """
        for _ in range(20):
            loss = torch.log(here - 1).sum()
            log(loss=loss.item())
        raise ValueError("the loss is not finite")
        """,
        cause="diverged",
    ),
    fails(
        "uses the GPU in a fork",
        """
        import os
        if not (child := os.fork()):
            torch.zeros(1, device="cuda")
        _, status = os.waitpid(child, 0)
        assert not status, "the child failed"
        """,
        cause="uncaught-exception",
    ),
    fails("asks for a GPU that is not there", 'torch.zeros(1, device="cuda:7")', cause=UNCAUGHT),
    fails("asks for the GPU in the workers of a loader", LOADER % 'torch.zeros(1, device="cuda")', cause=UNCAUGHT),
    fails("reads from the GPU in the workers of a loader", LOADER % "here[0] + 1", cause=UNCAUGHT),
    Fault(
        name="is killed while it holds the GPU's memory",
        program=BEGIN + "kept = torch.ones(1 << 34, dtype=torch.uint8, device='cuda')\nstay()",
        ends=(-signal.SIGKILL,),
        state="crashed",
        cause="killed",
        strike=kill,
        needs=("gpu", "torch"),
        takes_s=60.0,
    ),
    Fault(
        name="survives a full GPU and is killed later",
        program=BEGIN + CAUGHT + "stay()",
        ends=(-signal.SIGKILL,),
        state="crashed",
        cause="killed",
        strike=kill,
        needs=("gpu", "torch"),
        takes_s=60.0,
    ),
    Fault(
        name="survives a full GPU and ends well",
        program=BEGIN + CAUGHT + "log(loss=0.1)",
        ends=(0,),
        state="finished",
        needs=("gpu", "torch"),
        takes_s=60.0,
    ),
    Fault(
        name="trains on the GPU and ends well",
        program=BEGIN + "log(loss=float((torch.ones(4096, 4096, device='cuda') @ here.expand(4096, 1)).sum()))",
        ends=(0,),
        state="finished",
        needs=("gpu", "torch"),
        takes_s=60.0,
    ),
]
