"""The machine as a whole: memory, swap, load, CPU, and how often Linux ran out of memory."""

import os

from holter.probes.portable import PortableHostProbe
from holter.probes.probe import NAN, Probe, Target
from holter.probes.procfs import PROC, find_number, read_file
from holter.probes.totals import known


class HostProbe:
    """Reads /proc/meminfo, /proc/loadavg, /proc/stat and /proc/vmstat."""

    def __init__(self, proc: str = PROC) -> None:
        self._proc = proc
        self._before: tuple[int, int] | None = None

    def sample(self, target: Target) -> dict[str, float | int]:
        """Return the machine's numbers; `host/oom_kill` counts the kills of the whole machine since boot."""
        memory = read_file(f"{self._proc}/meminfo") or b""
        load = read_file(f"{self._proc}/loadavg") or b"nan"
        return {
            "host/memory_total_bytes": 1024 * (find_number(memory, b"MemTotal:") or 0),
            "host/memory_available_bytes": 1024 * known(find_number(memory, b"MemAvailable:")),
            "host/swap_total_bytes": 1024 * (find_number(memory, b"SwapTotal:") or 0),
            "host/swap_free_bytes": 1024 * (find_number(memory, b"SwapFree:") or 0),
            "host/load_1m": float(load.split()[0]),
            "host/cpu_percent": self._cpu_percent(),
            "host/oom_kill": known(find_number(read_file(f"{self._proc}/vmstat") or b"", b"oom_kill ")),
        }

    def close(self) -> None:
        """Nothing is held open."""

    def _cpu_percent(self) -> float:
        text = read_file(f"{self._proc}/stat")
        if not text:
            return NAN
        now = busy_and_total(text)
        before, self._before = self._before, now
        if before is None or now[1] <= before[1]:
            return NAN
        return max(0.0, 100 * (now[0] - before[0]) / (now[1] - before[1]))


def busy_and_total(text: bytes) -> tuple[int, int]:
    """Return the ticks all processors were busy, and all their ticks, from the first line of /proc/stat."""
    user, nice, system, idle, waiting, *interrupts = map(int, text.split(b"\n", 1)[0].split()[1:9])
    busy = user + nice + system + sum(interrupts)
    return busy, busy + idle + waiting


def open_probe(proc: str = PROC) -> Probe | None:
    """Return the probe for this machine: over /proc, or over psutil where there is none."""
    return HostProbe(proc) if os.path.exists(f"{proc}/meminfo") else PortableHostProbe()
