"""A torch without CUDA on a machine with GPUs."""

from collections.abc import Iterator

from holter.doctor.machine import Machine


def check(machine: Machine) -> Iterator[tuple[str, str, str]]:
    """`torch.cuda.is_available()` would be False here."""
    if machine.environment.has_cpu_torch and machine.gpus.devices:
        version = machine.environment.version_of("torch")
        what = f"torch {version} is built without CUDA, and there is a {machine.gpus.devices[0].name}"
        why = "`torch.cuda.is_available()` is False: programs train on the CPU without a word, or fail"
        yield what, why, "pip install --force-reinstall torch --index-url https://download.pytorch.org/whl/cu128"
