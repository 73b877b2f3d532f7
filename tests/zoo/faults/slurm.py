"""Jobs of a real SLURM, which kills for many reasons in much the same way."""

import signal
import time
from typing import Any

from tests.zoo.fault import PYTHON, SCRIPT, Fault, Place
from tests.zoo.faults.killed import DEAF, TRAINING
from tests.zoo.faults.memory import SLOW_LEAK
from tests.zoo.scene import Scene

# Nobody takes a place away in this partition.
CALM = ("--partition=high", "--mem=250")
SRUN = ("srun", "--quiet", PYTHON, SCRIPT)


def cancel(scene: Scene) -> None:
    scene.await_mark("staying")
    time.sleep(0.5)
    scene.slurm("scancel", scene.job)


def preempt(scene: Scene) -> None:
    """A job of more weight wants the only slot."""
    scene.await_mark("staying")
    other = scene.slurm(
        "sbatch", "--parsable", "--partition=high", "--gres=slot:1", "--mem=50", "--output=/dev/null", "--wrap=sleep 30"
    ).strip()
    try:
        while scene.slurm("squeue", "-h", "-j", other, "-o", "%t").strip() == "PD":
            time.sleep(0.2)
    finally:
        scene.slurm("scancel", other)


def kill(scene: Scene) -> None:
    scene.await_mark("staying")
    time.sleep(0.5)
    scene.kill(signal.SIGKILL)


def job(name: str, program: str, *, cause: str, job_states: tuple[str, ...], **more: Any) -> Fault:
    usual = {"state": "crashed", "place": Place(job=CALM)}
    return Fault(
        name=f"is a job of SLURM that {name}",
        program=program,
        cause=cause,
        job_states=job_states,
        needs=("slurm",),
        **{**usual, **more},
    )


FAULTS = [
    job("is cancelled", TRAINING, cause="scheduler-cancelled", job_states=("CANCELLED",), strike=cancel),
    job(
        "is cancelled and does not hear SIGTERM",
        DEAF,
        cause="scheduler-cancelled",
        job_states=("CANCELLED",),
        strike=cancel,
    ),
    job(
        "is preempted and put back into the queue",
        TRAINING,
        state="preempted",
        cause="scheduler-preempted",
        job_states=("PENDING",),
        strike=preempt,
        place=Place(job=("--partition=low", "--gres=slot:1", "--mem=250", "--requeue")),
    ),
    job(
        "reaches its time limit",
        TRAINING.replace("stay()", "stay(200)"),
        cause="scheduler-time-limit",
        job_states=("TIMEOUT",),
        place=Place(job=(*CALM, "--time=1")),
        takes_s=180.0,
    ),
    job("runs out of memory", SLOW_LEAK, cause="cgroup-out-of-memory", job_states=("OUT_OF_MEMORY",)),
    job(
        "runs out of memory in a step",
        SLOW_LEAK,
        command=SRUN,
        cause="cgroup-out-of-memory",
        job_states=("FAILED", "OUT_OF_MEMORY"),
    ),
    job("somebody kills", TRAINING, cause="killed", job_states=("FAILED",), strike=kill),
    job("somebody kills in a step", TRAINING, command=SRUN, cause="killed", job_states=("FAILED",), strike=kill),
]
