"""What psutil can tell of processes and host, for machines without /proc; what it cannot tell cheaply stays NaN."""

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import msgspec

from holter.probes.probe import NAN, Target
from holter.probes.totals import Counter, sum_known

if TYPE_CHECKING:
    import psutil


class Reading(msgspec.Struct, frozen=True):
    """One process at one tick."""

    cpu_s: float
    rss_bytes: int
    threads: int
    open_files: float
    read_bytes: float
    write_bytes: float


class PortableProcessProbe:
    """Adds up the process tree; the keys are those of the probe that reads /proc."""

    def __init__(self, now_s: Callable[[], float] = time.monotonic) -> None:
        self._now_s = now_s
        self._before: tuple[float, dict[int, float]] | None = None
        self._read, self._written = Counter(), Counter()

    def sample(self, target: Target) -> dict[str, float | int]:
        """Return the sums over the tree."""
        readings = {pid: reading for pid in target.tree if (reading := read_process(pid))}
        everyone = readings.values()
        return {
            "process/cpu_percent": self._cpu_percent({pid: reading.cpu_s for pid, reading in readings.items()}),
            "process/rss_bytes": sum(reading.rss_bytes for reading in everyone),
            "process/anon_bytes": NAN,
            "process/swap_bytes": NAN,
            "process/threads": sum(reading.threads for reading in everyone),
            "process/open_files": sum_known(reading.open_files for reading in everyone),
            "process/read_bytes": self._read.advance({"tree": sum_known(r.read_bytes for r in everyone)}),
            "process/write_bytes": self._written.advance({"tree": sum_known(r.write_bytes for r in everyone)}),
            "process/major_faults": NAN,
            "process/processes": len(everyone),
        }

    def close(self) -> None:
        """Nothing is held open."""

    def _cpu_percent(self, spent_s: dict[int, float]) -> float:
        now_s = self._now_s()
        before, self._before = self._before, (now_s, spent_s)
        if before is None or now_s <= before[0]:
            return NAN
        rises = (spent - before[1].get(pid, spent) for pid, spent in spent_s.items())
        return 100 * sum(max(0.0, rise) for rise in rises) / (now_s - before[0])


def read_process(pid: int) -> Reading | None:
    """Return one process, or None where it is gone or may not be looked at."""
    import psutil

    try:
        process = psutil.Process(pid)
        with process.oneshot():
            return None if process.status() == psutil.STATUS_ZOMBIE else _read(process)
    except psutil.Error:
        return None


def _read(process: "psutil.Process") -> Reading:
    cpu = process.cpu_times()
    # macOS has no I/O counters of processes, Windows no number of files.
    io = process.io_counters() if hasattr(process, "io_counters") else None
    return Reading(
        cpu_s=cpu.user + cpu.system,
        rss_bytes=process.memory_info().rss,
        threads=process.num_threads(),
        open_files=float(process.num_fds()) if hasattr(process, "num_fds") else NAN,
        read_bytes=float(io.read_bytes) if io else NAN,
        write_bytes=float(io.write_bytes) if io else NAN,
    )


class PortableHostProbe:
    """Memory, swap, load and CPU of the machine; the keys are those of the probe that reads /proc."""

    def __init__(self) -> None:
        self._has_looked = False

    def sample(self, target: Target) -> dict[str, float | int]:
        """Return the machine's numbers."""
        import psutil

        memory, swap = psutil.virtual_memory(), psutil.swap_memory()
        # The first percentage covers no time: psutil measures since the call before.
        cpu_percent = psutil.cpu_percent()
        has_looked, self._has_looked = self._has_looked, True
        return {
            "host/memory_total_bytes": memory.total,
            "host/memory_available_bytes": float(memory.available),
            "host/swap_total_bytes": swap.total,
            "host/swap_free_bytes": swap.free,
            "host/load_1m": psutil.getloadavg()[0],
            "host/cpu_percent": cpu_percent if has_looked else NAN,
            "host/oom_kill": NAN,
        }

    def close(self) -> None:
        """Nothing is held open."""
