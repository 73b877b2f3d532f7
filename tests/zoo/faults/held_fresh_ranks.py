"""Ranks of torchrun, of a launcher of somebody's own and of SLURM: who failed first, and for what."""

import textwrap
from typing import Any

from tests.zoo.fault import PYTHON, SCRIPT, Fault, Place
from tests.zoo.faults.ranks import BY_HAND, TORCHRUN
from tests.zoo.faults.slurm import CALM

RAISED, TERMINATED = "uncaught-exception", "terminated"

GLOO = """
import datetime, os, signal, sys, time
import torch
import torch.distributed as dist
from training import begin, log, mark, stay

dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=20))
rank = dist.get_rank()
begin()
"""


def ranks(name: str, body: str, **more: Any) -> Fault:
    """Two ranks under torchrun, which leaves with 1 whatever happened."""
    usual = {"command": TORCHRUN, "ends": (1,), "state": "failed", "run_state": "failed"}
    others = {"processes": 2, "needs": ("torch",), "takes_s": 120.0}
    return Fault(name=name, program=GLOO + textwrap.dedent(body), **{**usual, **others, **more})


def job(name: str, body: str, **more: Any) -> Fault:
    """A job of SLURM."""
    program = f"import multiprocessing, os, resource, subprocess, sys, time\n{textwrap.dedent(body)}"
    usual = {"state": "failed", "job_states": ("FAILED",), "place": Place(job=CALM), "needs": ("slurm",)}
    return Fault(name=f"is a job of SLURM that {name}", program=program, **{**usual, **more})


FAULTS = [
    ranks(
        "has a rank under torchrun that finds the disk full",
        """
        for step in range(400):
            if step == 12 and rank == 1:
                with open("disk/rank-1.ckpt", "wb") as file:
                    file.write(bytes(9 << 20))
            dist.all_reduce(torch.ones(1))
            log(loss=1 / (step + 1)); time.sleep(0.02)
        """,
        cause="disk-full",
        place=Place(disks=(("disk", "size=3m"),)),
    ),
    ranks(
        "has ranks under torchrun with parameters that no step uses",
        """
        class Net(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.used, self.unused = torch.nn.Linear(4, 4), torch.nn.Linear(4, 4)
            def forward(self, x):
                return self.used(x)
        model = torch.nn.parallel.DistributedDataParallel(Net())
        for step in range(5):
            loss = model(torch.ones(2, 4)).sum()
            loss.backward()
            log(loss=loss.item())
        """,
        cause=RAISED,
    ),
    # Nobody waits for the other: each is a process by itself, and the second dies of what it was refused.
    Fault(
        name="has ranks without a network of which one is refused memory",
        program="import os, resource, time\nfrom training import begin, log\nbegin()\n"
        "for step in range(60):\n    log(loss=0.5); time.sleep(0.02)\n"
        "    if step == 20 and os.environ['RANK'] == '0':\n"
        "        resource.setrlimit(resource.RLIMIT_AS, (400 << 20,) * 2)\n"
        "        cache = [bytearray(100 << 20) for _ in range(9)]\n",
        command=BY_HAND,
        ends=(1,),
        state="failed",
        run_state="failed",
        cause="allocation-refused",
        processes=2,
    ),
    job(
        "is refused memory by a limit of its script",
        """
        from training import begin, log
        begin()
        log(loss=0.5)
        batch = bytearray(1 << 30)
        """,
        cause="allocation-refused",
        command=("bash", "-c", f"ulimit -v 300000; {PYTHON} {SCRIPT}"),
    ),
    job(
        "has a step of two tasks of which one raises",
        """
        os.environ["RANK"] = os.environ["SLURM_PROCID"]
        from training import begin, log
        begin()
        for step in range(400):
            if step == 20 and os.environ["RANK"] == "1":
                raise ValueError("task 1: the tokenizer has 32000 entries, the model 32064")
            log(loss=1 / (step + 1)); time.sleep(0.05)
        """,
        cause=RAISED,
        command=("srun", "--quiet", "--ntasks=2", "--kill-on-bad-exit=1", PYTHON, SCRIPT),
        place=Place(job=(*CALM, "--ntasks=2")),
        processes=2,
    ),
    job(
        "has a worker that aborts",
        """
        from training import begin, log
        begin()
        log(loss=0.5)
        worker = multiprocessing.get_context("fork").Process(target=os.abort)
        worker.start()
        worker.join()
        if worker.exitcode:
            raise RuntimeError(f"decoder left with {worker.exitcode}")
        """,
        cause="aborted",
    ),
]
