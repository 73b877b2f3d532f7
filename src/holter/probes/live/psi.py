"""Pressure stall information: the share of the last ten seconds that work waited for CPU, I/O or memory."""

from holter.probes.probe import NAN, Probe, Target
from holter.probes.procfs import PROC, read_file

RESOURCES = ("cpu", "io", "memory")
KINDS = ("some", "full")


class PressureProbe:
    """Reads /proc/pressure; `some` is when anyone waited, `full` when everyone did, both in percent."""

    def __init__(self, proc: str = PROC) -> None:
        self._proc = proc

    def sample(self, target: Target) -> dict[str, float | int]:
        """Return the ten-second averages."""
        texts = {resource: read_file(f"{self._proc}/pressure/{resource}") or b"" for resource in RESOURCES}
        return {
            f"psi/{resource}_{kind}_avg10": average(texts[resource], kind) for resource in RESOURCES for kind in KINDS
        }

    def close(self) -> None:
        """Nothing is held open."""


def average(text: bytes, kind: str) -> float:
    """Return the ten-second average from the line of that kind, NaN where there is none."""
    for line in text.splitlines():
        words = line.split()
        if words[0] == kind.encode():
            return float(words[1].removeprefix(b"avg10="))
    return NAN


def open_probe(proc: str = PROC) -> Probe | None:
    """Return the probe, or None where Linux keeps no pressure information."""
    return PressureProbe(proc) if read_file(f"{proc}/pressure/memory") else None
