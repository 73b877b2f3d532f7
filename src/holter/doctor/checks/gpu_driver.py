"""The driver in memory and NVIDIA's libraries on the disk are not of one version."""

from collections.abc import Iterator

from holter.doctor.machine import Machine


def check(machine: Machine) -> Iterator[tuple[str, str, str]]:
    """A driver that is there and does not answer."""
    gpus = machine.gpus
    if gpus.trouble and gpus.loaded_driver:
        what = f"Linux has loaded NVIDIA's driver {gpus.loaded_driver}, and its library says: {gpus.trouble}"
        why = "after an update of the driver without a restart no program finds a GPU any more"
        yield what, why, "restart the machine; in a container: start it anew on the host with `--gpus all`"
