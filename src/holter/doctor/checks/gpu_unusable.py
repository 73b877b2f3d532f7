"""A GPU that lets nobody in, or that is broken already."""

from collections.abc import Iterator

from holter.doctor.machine import Machine
from holter.doctor.visible_gpus import visible

PROHIBITED, ONE_PROCESS = 2, 3


def check(machine: Machine) -> Iterator[tuple[str, str, str]]:
    """Compute modes, memory that needs a reset, and errors that nobody could correct."""
    for gpu in visible(machine):
        index = machine.gpus.devices.index(gpu) if gpu in machine.gpus.devices else 0
        name = f"GPU {index} ({gpu.name})"
        if gpu.compute_mode == PROHIBITED:
            why = "each program that starts on it fails with «all CUDA-capable devices are busy or unavailable»"
            yield f"{name} is set to «prohibited»", why, f"sudo nvidia-smi -i {index} -c DEFAULT"
        if gpu.compute_mode == ONE_PROCESS and any(not each.is_ours for each in gpu.holders):
            why = "it takes one process at a time, and has one"
            yield f"{name} is set to «exclusive process» and in use", why, f"sudo nvidia-smi -i {index} -c DEFAULT"
        if gpu.needs_reset:
            why = (
                "rows of its memory are broken and wait to be replaced: the next error in them ends the"
                " training (Xid 94, 95)"
            )
            yield f"{name} needs a reset", why, f"sudo nvidia-smi -i {index} --gpu-reset, or restart the machine"
        if gpu.uncorrected_errors:
            why = "memory that fails once fails again, in the middle of a training or without a word in its results"
            what = (
                f"{name} has seen {gpu.uncorrected_errors} memory errors since the driver was loaded that"
                " nobody could correct"
            )
            yield (
                what,
                why,
                f"use another GPU; sudo nvidia-smi -i {index} --gpu-reset, and tell who looks after the machine",
            )
