"""A notebook kernel can't start, or is not of the environment that it seems to be of."""

from collections.abc import Iterator

from holter.doctor.machine import Kernel, Machine

DEFAULT = "python3"


def check(machine: Machine) -> Iterator[tuple[str, str, str]]:
    """Each kernel that Jupyter offers from here; of the default one, whose it is."""
    for kernel in machine.kernels:
        yield from _look_at(kernel, machine)


def _look_at(kernel: Kernel, machine: Machine) -> Iterator[tuple[str, str, str]]:
    if not kernel.is_there:
        what = f"the notebook kernel {kernel.name!r} can't start: {kernel.executable} is not there ({kernel.folder})"
        yield what, "the notebook says «Kernel died» or waits for ever", f"jupyter kernelspec remove {kernel.name}"
    elif kernel.has_ipykernel is False:
        what = f"the notebook kernel {kernel.name!r} can't start: {kernel.executable} has no ipykernel"
        yield what, "the notebook says «Kernel died» or waits for ever", f"{kernel.executable} -m pip install ipykernel"
    elif _is_foreign(kernel, machine):
        what = (
            f"the notebook kernel {kernel.name!r} is {kernel.prefix}, and not this environment"
            f" ({machine.environment.prefix})"
        )
        why = "what is installed here is missing there, or is there in another version"
        fix = f"{machine.environment.executable} -m ipykernel install --sys-prefix; rm -r {kernel.folder}"
        yield what, why, fix


def _is_foreign(kernel: Kernel, machine: Machine) -> bool:
    """The default one is of another environment, though this one could have its own."""
    own = machine.environment
    is_other = kernel.name == DEFAULT and kernel.prefix and kernel.prefix != own.prefix
    return bool(is_other and own.version_of("ipykernel"))
