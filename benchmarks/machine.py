"""Says on what the figures were measured; a number without its machine means little."""

import os
import platform
from importlib.metadata import version
from pathlib import Path

import msgspec

from holter.journal.filesystem import file_system


class Machine(msgspec.Struct, frozen=True):
    processor: str
    cores: int
    memory_gib: float
    kernel: str
    file_system: str
    python: str
    packages: dict[str, str]


def describe_machine(scratch: Path, peers: dict[str, str]) -> Machine:
    packages = {name: version(name) for name in ("holter", "msgspec", "numpy")}
    return Machine(
        processor=_processor(),
        cores=len(os.sched_getaffinity(0)),
        memory_gib=round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
        kernel=f"{platform.system()} {platform.release().partition('-')[0]}",
        file_system=file_system(str(scratch)),
        python=platform.python_version(),
        packages=packages | peers,
    )


def machine_sentence(machine: Machine) -> str:
    packages = ", ".join(f"{name} {number}" for name, number in machine.packages.items())
    return (
        f"{machine.cores} cores of {machine.processor}, {machine.memory_gib:g} GiB, {machine.file_system}, "
        f"{machine.kernel}, Python {machine.python}; {packages}"
    )


def busy_s() -> float:
    """CPU seconds that the whole machine has used since it was started."""
    user, nice, system, _, _, irq, softirq, steal, *_ = map(
        int, Path("/proc/stat").read_text().split("\n")[0].split()[1:]
    )
    return (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()
