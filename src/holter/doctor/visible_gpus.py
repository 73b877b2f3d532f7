"""Which GPUs a program would see: `CUDA_VISIBLE_DEVICES` as CUDA reads it. Pure."""

from holter.doctor.machine import Gpu, Machine

NAME = "CUDA_VISIBLE_DEVICES"


def find(name: str, devices: tuple[Gpu, ...]) -> Gpu | None:
    """The GPU that CUDA takes it for; MIG instances are taken as they are."""
    if name.isdigit():
        return devices[int(name)] if int(name) < len(devices) else None
    if name.startswith("MIG-"):
        return Gpu(uuid=name)
    matching = [each for each in devices if name.startswith("GPU-") and each.uuid.startswith(name)]
    return matching[0] if len(matching) == 1 else None


def visible(machine: Machine) -> tuple[Gpu, ...]:
    """The GPUs that a program of this environment would see."""
    devices, value = machine.gpus.devices, machine.environment.variables.get(NAME)
    if value is None:
        return devices
    found: list[Gpu] = []
    for name in value.split(","):
        gpu = find(name.strip(), devices)
        if gpu is None:
            break
        found.append(gpu)
    return tuple(found)
