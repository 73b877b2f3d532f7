"""Somebody else holds the memory of a GPU that the training would use."""

from collections.abc import Iterator

from holter.doctor.amounts import size
from holter.doctor.machine import Holder, Machine
from holter.doctor.visible_gpus import visible

# A desktop and a driver's own bookkeeping take less than this.
MOST_IDLE_SHARE = 0.1
WHY = "memory of a GPU is not shared out: what others hold is missing, and what they take later ends the training"


def check(machine: Machine) -> Iterator[tuple[str, str, str]]:
    """Each visible GPU of which more than a tenth is taken, and by whom."""
    for gpu in visible(machine):
        others = [each for each in gpu.holders if not each.is_ours]
        own = sum(each.used_bytes or 0 for each in gpu.holders if each.is_ours)
        taken = gpu.memory_used_bytes - own
        if not gpu.memory_total_bytes or taken <= MOST_IDLE_SHARE * gpu.memory_total_bytes:
            continue
        index = machine.gpus.devices.index(gpu)
        what = f"GPU {index} ({gpu.name}): {size(taken)} of {size(gpu.memory_total_bytes)} are taken"
        yield f"{what} by {_names(others)}", WHY, _fix(machine, index, others)


def _names(others: list[Holder]) -> str:
    if not others:
        return "a process that can't be seen from here (another container, or one that left its memory behind)"
    return ", ".join(
        f"process {each.pid}" + (f" ({each.command}{f' of {each.user}' if each.user else ''})" if each.command else "")
        for each in others
    )


def _fix(machine: Machine, index: int, others: list[Holder]) -> str:
    free = [
        number
        for number, gpu in enumerate(machine.gpus.devices)
        if gpu.memory_used_bytes <= MOST_IDLE_SHARE * gpu.memory_total_bytes
    ]
    if free:
        return f"CUDA_VISIBLE_DEVICES={','.join(map(str, free))}"
    pids = " ".join(str(each.pid) for each in others)
    return f"wait, or end what is yours: kill {pids}" if pids else f"nvidia-smi -i {index} tells more"
