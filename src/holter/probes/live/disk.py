"""Space where the run writes: its directory, the program's working directory, the temporary one, shared memory."""

import os
from typing import TYPE_CHECKING

from holter.probes.probe import NAN, Probe, Target
from holter.probes.procfs import PROC
from holter.probes.quota import Quotas

if TYPE_CHECKING:
    from collections.abc import Mapping

    from holter.model.quota import Quota

SHARED_MEMORY = "/dev/shm"


class DiskProbe:
    """Asks each place's file system; a network file system that hangs makes it wait too."""

    def __init__(self, proc: str = PROC, temporary: str | None = None, *, ask: Quotas | None = None) -> None:
        self._proc = proc
        # The sidecar inherits the environment of the program it watches.
        self._temporary = temporary or os.environ.get("TMPDIR") or "/tmp"
        self._ask = ask or Quotas(proc=proc)
        self.quotas: Mapping[str, tuple[Quota, ...]] = {}
        """Of each place at the last tick, where it has any."""

    def sample(self, target: Target) -> dict[str, float | int]:
        """Return free and total bytes and free inodes; NaN where the place or its file system has none."""
        row: dict[str, float | int] = {}
        quotas = {}
        for name, path in self._places(target).items():
            free_bytes, total_bytes, free_inodes = measure(path)
            row[f"disk/{name}/free_bytes"] = free_bytes
            row[f"disk/{name}/total_bytes"] = total_bytes
            row[f"disk/{name}/free_inodes"] = free_inodes
            if found := self._ask.of(path):
                quotas[name] = found
        self.quotas = quotas
        return row

    def close(self) -> None:
        """Nothing is held open."""

    def _places(self, target: Target) -> dict[str, str]:
        root = target.roots[0] if target.roots else 0
        return {
            "run": target.directory,
            "cwd": f"{self._proc}/{root}/cwd",
            "tmp": self._temporary,
            "shm": SHARED_MEMORY,
        }


def measure(path: str) -> tuple[float, float, float]:
    """Return free bytes, all bytes and free inodes of the path's file system, for an ordinary user."""
    try:
        found = os.statvfs(path)
    except OSError:
        return NAN, NAN, NAN
    # File systems that make inodes as they go (btrfs, some network ones) report none at all.
    inodes = float(found.f_favail) if found.f_files else NAN
    return float(found.f_bavail * found.f_frsize), float(found.f_blocks * found.f_frsize), inodes


def open_probe(proc: str = PROC) -> Probe | None:
    """Return the probe, or None where the system has no such call."""
    return DiskProbe(proc) if hasattr(os, "statvfs") else None
