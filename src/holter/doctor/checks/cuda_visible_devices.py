"""`CUDA_VISIBLE_DEVICES` does not name the GPUs that somebody meant."""

from collections.abc import Iterator

from holter.doctor.machine import Gpu, Machine
from holter.doctor.visible_gpus import NAME, find

WHY_CUT = "CUDA stops at the first name that it does not know, without a word: the program sees fewer GPUs, or none"
WHY_NONE = "CUDA shows no GPU then: the program fails, or trains on the CPU without a word"


def check(machine: Machine) -> Iterator[tuple[str, str, str]]:
    """Names of no GPU, names twice, no name at all, and numbers that count in another order."""
    devices, value = machine.gpus.devices, machine.environment.variables.get(NAME)
    if value is None or not devices:
        return
    names = value.split(",") if value.strip() else []
    if not names:
        yield f"{NAME} is set and empty", WHY_NONE, f"unset {NAME}, or name GPUs: {_all(devices)}"
        return
    found: list[Gpu] = []
    for name in names:
        gpu = find(name.strip(), devices)
        if gpu is None:
            what = f"{NAME}={value!r}: {name.strip()!r} is none of the {len(devices)} GPUs here"
            yield what, WHY_CUT, f"{NAME}={_all(devices)}, or some of them"
            return
        if gpu in found:
            yield f"{NAME}={value!r} names one GPU twice", WHY_NONE, f"name each once: {_all(devices)}"
            return
        found.append(gpu)
    yield from _order(machine, names)


def _order(machine: Machine, names: list[str]) -> Iterator[tuple[str, str, str]]:
    kinds = {each.name for each in machine.gpus.devices}
    by_bus = machine.environment.variables.get("CUDA_DEVICE_ORDER") == "PCI_BUS_ID"
    if len(kinds) > 1 and not by_bus and any(name.strip().isdigit() for name in names):
        what = f"{NAME} has numbers, and the GPUs here are of different kinds: {', '.join(sorted(kinds))}"
        why = (
            "CUDA numbers the fastest GPU as 0, nvidia-smi by the slot: the training may run on another GPU than meant"
        )
        yield what, why, "export CUDA_DEVICE_ORDER=PCI_BUS_ID"


def _all(devices: tuple[Gpu, ...]) -> str:
    return ",".join(map(str, range(len(devices))))
