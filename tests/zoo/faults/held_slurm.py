"""Jobs of a real SLURM that end by themselves, by somebody's hand, or by the scheduler's after they saved."""

import signal
import time
from collections.abc import Callable
from typing import Any

from tests.zoo.fault import PYTHON, SCRIPT, Fault, Place
from tests.zoo.faults.slurm import CALM, SRUN, cancel, preempt
from tests.zoo.scene import Scene

POLITE = """
import signal, sys
from training import begin, stay
def save(number, frame):
    print("saved", flush=True)
    sys.exit(0)
begin()
signal.signal(signal.SIGTERM, save)
stay()
"""


def send(number: int) -> Callable[[Scene], None]:
    def strike(scene: Scene) -> None:
        scene.await_mark("staying")
        time.sleep(0.5)
        scene.kill(number)

    return strike


def job(name: str, body: str, *, cause: str, job_states: tuple[str, ...], **more: Any) -> Fault:
    program = f"import ctypes, os, subprocess, sys, time\nfrom training import begin, log, stay\nbegin()\n{body}\n"
    usual = {"program": program, "state": "failed", "place": Place(job=CALM), "needs": ("slurm",)}
    return Fault(name=f"is a job of SLURM that {name}", cause=cause, job_states=job_states, **{**usual, **more})


GROWING = "import time\nheld = []\nwhile True:\n    held.append(bytearray(b'x') * (3 << 20)); time.sleep(0.005)"

FAULTS = [
    job(
        "raises",
        "raise ValueError('expected 1000 classes, got 1001')",
        cause="uncaught-exception",
        job_states=("FAILED",),
    ),
    job(
        "leaves with 9",
        "print('slurmstepd: error: *** JOB 12 CANCELLED DUE TO TIME LIMIT ***', file=sys.stderr)\nsys.exit(9)",
        cause="nonzero-exit",
        job_states=("FAILED",),
    ),
    job(
        "faults in a step",
        "ctypes.string_at(0)",
        cause="segmentation-fault",
        state="crashed",
        job_states=("FAILED",),
        command=SRUN,
    ),
    # SLURM says of the whole job what happened to one process of it.
    job(
        "fails because a program of its own was killed for memory",
        f"subprocess.run([sys.executable, '-c', {GROWING!r}], check=True)",
        cause="cgroup-out-of-memory",
        job_states=("OUT_OF_MEMORY", "FAILED"),
    ),
    job(
        "somebody terminates by hand",
        "stay()",
        cause="terminated",
        state="crashed",
        job_states=("FAILED",),
        strike=send(signal.SIGTERM),
    ),
    job(
        "is cancelled, saves, and leaves with 0",
        "",
        program=POLITE,
        cause="scheduler-cancelled",
        state="crashed",
        job_states=("CANCELLED",),
        strike=cancel,
    ),
    job(
        "is preempted, saves, and leaves with 0",
        "",
        program=POLITE,
        cause="scheduler-preempted",
        state="preempted",
        job_states=("PENDING",),
        strike=preempt,
        place=Place(job=("--partition=low", "--gres=slot:1", "--mem=250", "--requeue")),
    ),
    job(
        "is ended by a timeout of its own script",
        "stay()",
        cause="terminated",
        state="crashed",
        run_state="failed",
        job_states=("FAILED",),
        command=("timeout", "10", PYTHON, SCRIPT),
    ),
]
