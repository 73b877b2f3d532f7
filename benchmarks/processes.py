"""Finds processes of ours and reads what they use, from /proc."""

import os
import signal
import time
from pathlib import Path

import msgspec

TICK_S = 1 / os.sysconf("SC_CLK_TCK")


class Snapshot(msgspec.Struct, frozen=True):
    """What a process used so far and holds now."""

    at_s: float
    cpu_s: float
    rss_mb: float
    anonymous_mb: float
    peak_mb: float
    descriptors: int
    threads: int


def snapshot(pid: int) -> Snapshot:
    """Raises FileNotFoundError or ProcessLookupError where it is gone."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    status = {name: value.split()[0] for name, _, value in (line.partition(":") for line in lines) if value.split()}
    return Snapshot(
        at_s=time.monotonic(),
        cpu_s=(int(fields[11]) + int(fields[12])) * TICK_S,
        rss_mb=int(status["VmRSS"]) * 1024 / 1e6,
        anonymous_mb=int(status["RssAnon"]) * 1024 / 1e6,
        peak_mb=int(status["VmHWM"]) * 1024 / 1e6,
        descriptors=len(os.listdir(f"/proc/{pid}/fd")),
        threads=int(status["Threads"]),
    )


def find_sidecar(directory: Path) -> int | None:
    """The sidecar that watches a run somewhere under this directory; None where there is none (yet)."""
    wanted = str(directory).encode()
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        # The shell that starts it has the same words behind its own.
        if b"holter.sidecar" in words[1:5] and wanted in b" ".join(words):
            return int(pid)
    return None


def await_sidecar(directory: Path, within_s: float = 10.0) -> int:
    """Raises TimeoutError."""
    deadline = time.monotonic() + within_s
    while (pid := find_sidecar(directory)) is None:
        if time.monotonic() > deadline:
            raise TimeoutError(f"no sidecar came within {within_s:g} s")
        time.sleep(0.02)
    return pid


def await_departure(directory: Path, within_s: float) -> bool:
    """Wait until no sidecar watches this directory; one that stays is ended. True if it left by itself."""
    deadline = time.monotonic() + within_s
    while (pid := find_sidecar(directory)) is not None:
        if time.monotonic() > deadline:
            end(pid)
            return False
        time.sleep(0.02)
    return True


def end(pid: int) -> None:
    """Kill a process of ours, if it is still there."""
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return
