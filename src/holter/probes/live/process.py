"""The recorded processes and all their descendants: CPU, memory, threads, files, I/O."""

import os
import time
from collections.abc import Callable, Mapping

import msgspec

from holter.probes.portable import PortableProcessProbe
from holter.probes.probe import NAN, Probe, Target
from holter.probes.procfs import PROC, Stat, find_number, read_file, read_stat
from holter.probes.shared_pages import SharedPages
from holter.probes.totals import Counter, known, sum_known


class Reading(msgspec.Struct, frozen=True):
    """One process at one tick; NaN for what may not be read of it."""

    stat: Stat
    rss_bytes: int
    anon_bytes: int
    swap_bytes: int
    open_files: float
    read_bytes: float
    write_bytes: float
    address_space_bytes: int = 0
    shared_bytes: int = 0
    """Of `anon_bytes`, what other processes may hold too."""
    private_bytes: float = NAN
    """Of a forked process: of `anon_bytes`, what it does not share with its parent."""

    @property
    def held_bytes(self) -> float:
        """What it adds to the memory of its tree."""
        return self.anon_bytes if self.private_bytes != self.private_bytes else self.private_bytes


class ProcessProbe:
    """Adds up the tree from /proc."""

    def __init__(self, proc: str = PROC, uptime_s: Callable[[], float] | None = None) -> None:
        self._proc = proc
        self._uptime_s = uptime_s or (lambda: time.clock_gettime(time.CLOCK_BOOTTIME))
        self._ticks_per_s = os.sysconf("SC_CLK_TCK")
        self._before: tuple[float, dict[int, Stat]] | None = None
        self.readings: dict[int, Reading] = {}
        """Of each process at the last tick."""
        self._read, self._written, self._faults = Counter(), Counter(), Counter()
        self._shared = SharedPages(proc)

    def sample(self, target: Target) -> dict[str, float | int]:
        """Return the sums over the tree; the cumulative ones keep what ended processes had done."""
        readings = {pid: reading for pid in target.tree if (reading := read_process(pid, self._proc))}
        now_s = self._uptime_s()
        own = self._shared.own(readings, now_s)
        readings |= {pid: msgspec.structs.replace(readings[pid], private_bytes=each) for pid, each in own.items()}
        self.readings = readings
        everyone = readings.values()
        alive = [reading for reading in everyone if not reading.stat.is_dead]
        # One sum for the whole tree: what a process counted moves to its parent when the parent waits for it.
        return {
            "process/cpu_percent": self._cpu_percent({pid: reading.stat for pid, reading in readings.items()}, now_s),
            "process/rss_bytes": sum(reading.rss_bytes for reading in alive),
            "process/anon_bytes": float(sum(reading.held_bytes for reading in alive)),
            "process/swap_bytes": float(sum(reading.swap_bytes for reading in alive)),
            "process/threads": sum(reading.stat.threads for reading in alive),
            "process/open_files": sum_known(reading.open_files for reading in alive),
            "process/read_bytes": self._read.advance({"tree": sum_known(r.read_bytes for r in everyone)}),
            "process/write_bytes": self._written.advance({"tree": sum_known(r.write_bytes for r in everyone)}),
            "process/major_faults": self._faults.advance({"tree": sum_known(r.stat.major_faults for r in everyone)}),
            "process/processes": len(alive),
        }

    def close(self) -> None:
        """Nothing is held open."""

    def _cpu_percent(self, stats: dict[int, Stat], now_s: float) -> float:
        before, self._before = self._before, (now_s, stats)
        if before is None or now_s <= before[0]:
            return NAN
        ticks = ticks_between(before[1], stats, since=int(before[0] * self._ticks_per_s))
        return 100 * ticks / self._ticks_per_s / (now_s - before[0])


def read_process(pid: int, proc: str = PROC) -> Reading | None:
    """Return what /proc says about one process, or None where it is gone."""
    stat = read_stat(pid, proc)
    if stat is None:
        return None
    status = read_file(f"{proc}/{pid}/status") or b""
    io = read_file(f"{proc}/{pid}/io") or b""
    return Reading(
        stat=stat,
        rss_bytes=1024 * (find_number(status, b"VmRSS:") or 0),
        anon_bytes=1024 * ((find_number(status, b"RssAnon:") or 0) + (find_number(status, b"RssShmem:") or 0)),
        swap_bytes=1024 * (find_number(status, b"VmSwap:") or 0),
        open_files=count_open_files(f"{proc}/{pid}/fd"),
        read_bytes=known(find_number(io, b"read_bytes:")),
        write_bytes=known(find_number(io, b"write_bytes:")),
        address_space_bytes=1024 * (find_number(status, b"VmSize:") or 0),
        shared_bytes=1024 * (find_number(status, b"RssShmem:") or 0),
    )


def count_open_files(directory: str) -> float:
    """Return the number of descriptors in a `/proc/PID/fd`, NaN where it may not be read."""
    try:
        # Since Linux 6.2 the directory's size is the count; before, it is 0.
        return float(os.stat(directory).st_size or len(os.listdir(directory)))
    except OSError:
        return NAN


def ticks_between(before: Mapping[int, Stat], after: Mapping[int, Stat], *, since: int) -> int:
    """Return the CPU time a tree spent between two looks, with that of processes which ended in between.

    Args:
        since: when the first look was, in clock ticks since boot; a process older than that joined the tree late
            and brings its past along, which is not counted.
    """
    spent = reaped = 0
    for pid, stat in after.items():
        old = before.get(pid)
        if old is not None and old.started == stat.started:
            spent += stat.cpu_ticks - old.cpu_ticks
            reaped += stat.reaped_ticks - old.reaped_ticks
        elif stat.started >= since:
            spent += stat.cpu_ticks + stat.reaped_ticks
    gone = (old for pid, old in before.items() if pid not in after or after[pid].started != old.started)
    # Whoever waits for a child takes over the child's whole past: only what we had not seen of it is new.
    return spent + max(0, reaped - sum(old.cpu_ticks + old.reaped_ticks for old in gone))


def open_probe(proc: str = PROC) -> Probe | None:
    """Return the probe for this machine: over /proc, or over psutil where there is none."""
    return ProcessProbe(proc) if os.path.exists(f"{proc}/self/stat") else PortableProcessProbe()
