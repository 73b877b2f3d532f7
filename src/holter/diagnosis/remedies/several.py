"""Remedies for mistakes with several processes or GPUs, and for what is missing."""

from collections.abc import Mapping

from holter.diagnosis import words
from holter.diagnosis.phrases.tags import tags_in
from holter.diagnosis.remedies.particulars import python_of
from holter.model.evidence import Evidence

SPAWN_FOR_CUDA = (
    "start workers before the first use of the GPU, or with spawn: "
    "torch.multiprocessing.set_start_method('spawn'), multiprocessing_context='spawn' for a DataLoader"
)
PICKLABLE = "move the function or class to the top of a module, and open files and connections inside the worker"
ONE_WRITER = "let one process write (if rank == 0:), or give each its own file with the rank in the name"


def choose_gpu(evidence: Evidence) -> str:
    """GPUs are counted from 0, and a variable hides some."""
    gpus = evidence.facts.get("gpus")
    devices = gpus.get("devices") if isinstance(gpus, Mapping) else None
    count = len(devices) if isinstance(devices, list) else 0
    here = f"this machine has {words.count(count, 'GPU')}" if count else "nvidia-smi -L lists those of this machine"
    return f"choose a GPU that is there: {here}, and CUDA_VISIBLE_DEVICES hides some and counts the others from 0"


def install_module(evidence: Evidence) -> str:
    """A package that is not there, or not in this environment."""
    raised = evidence.subject.raised
    missing = tags_in(raised.message).get("module-missing") if raised else None
    if missing is None:
        return ""
    package = missing[1].partition(".")[0]
    if evidence.subject.role == "kernel":
        return f"install it for the notebook's kernel: {python_of(evidence.subject)} -m pip install {package}"
    return f"install {package} into the environment that runs the program: python -m pip install {package}"


def same_batches(evidence: Evidence) -> str:
    """Ranks that run out of data at different steps wait for ever."""
    if len({end.last_step for end in evidence.ranks if end.rank is not None}) < 2:
        return ""
    return (
        "give every rank the same number of batches (DistributedSampler, drop_last), "
        "and put no collective under if rank == 0:"
    )


def wake(evidence: Evidence) -> str:
    """A stopped process goes on when told to."""
    if not any(stall.kernel_state == "T" for stall in evidence.stalls):
        return ""
    return f"let it go on: kill -CONT {evidence.subject.pid}"
