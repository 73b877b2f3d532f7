"""The machine, the limits of a process, `/dev/shm` and the directories that a training writes to."""

import os
import re
import tempfile
from collections.abc import Iterable

from holter.doctor.machine import Host, Limits, Place, SharedMemory
from holter.journal.filesystem import file_system
from holter.probes.cgroups import Cgroup, find_chain
from holter.probes.limits import (
    cgroup_cpu_limit,
    cgroup_memory_limit,
    cgroup_process_limit,
    overcommit_mode,
    parse_limits,
)
from holter.probes.live.process import count_open_files
from holter.probes.procfs import PROC, find_number, read_file
from holter.probes.quota import Quotas

SHARED = "/dev/shm"
# Named after the process that made them: torch's, and those of Python's multiprocessing.
_OF_PROCESS = re.compile(r"(?:torch|sem\.mp|psm|pym)[_-](\d+)[_-]")
MOST_LEFT = 5000


def read_host(*, now_s: float, newest_file_s: float, proc: str = PROC) -> Host:
    """What `/proc` says of the whole machine."""
    memory = read_file(f"{proc}/meminfo") or b""

    def count(label: bytes) -> int | None:
        found = find_number(memory, label)
        return None if found is None else found * 1024

    return Host(
        linux=os.uname().release,
        glibc=_glibc(),
        cpus=os.cpu_count() or 0,
        memory_total_bytes=count(b"MemTotal:"),
        memory_available_bytes=count(b"MemAvailable:"),
        swap_total_bytes=count(b"SwapTotal:") or 0,
        swap_free_bytes=count(b"SwapFree:") or 0,
        overcommit=overcommit_mode(proc),
        commit_limit_bytes=count(b"CommitLimit:"),
        committed_bytes=count(b"Committed_AS:"),
        now_s=now_s,
        newest_file_s=newest_file_s,
    )


def _glibc() -> str:
    try:
        return (os.confstr("CS_GNU_LIBC_VERSION") or "").removeprefix("glibc ")
    except (AttributeError, OSError, ValueError):  # another C library
        return ""


def read_limits(pid: int, proc: str = PROC) -> Limits:
    """The limits that hold for a process, and how much of them is used."""
    return Limits(
        memory_bytes=cgroup_memory_limit(pid, proc),
        memory_used_bytes=_memory_used(pid, proc),
        cpus=cgroup_cpu_limit(pid, proc),
        processes=cgroup_process_limit(pid, proc),
        processes_used=_lowest_level(pid, "pids", "pids.current", proc),
        ulimits=parse_limits(read_file(f"{proc}/{pid}/limits") or b""),
        open_files=count_open_files(f"{proc}/{pid}/fd"),
    )


def _memory_used(pid: int, proc: str) -> int | None:
    """Of the cgroup with the lowest limit, without the file cache, which Linux gives up first."""
    chain = find_chain(pid, "memory", proc=proc)
    limit = "memory.max" if chain.is_unified else "memory.limit_in_bytes"
    usage = "memory.current" if chain.is_unified else "memory.usage_in_bytes"
    found: list[tuple[float, float]] = []
    for directory in chain.directories:
        cgroup = Cgroup(directory)
        cache = cgroup.number("memory.stat", b"inactive_file" if chain.is_unified else b"total_inactive_file")
        found.append((cgroup.number(limit), cgroup.number(usage) - (cache if cache == cache else 0)))
        cgroup.close()
    bounded = [(most, used) for most, used in found if most == most and used == used]
    return int(min(bounded)[1]) if bounded else None


def _lowest_level(pid: int, controller: str, file: str, proc: str) -> int | None:
    for directory in find_chain(pid, controller, proc=proc).directories:
        cgroup = Cgroup(directory)
        number = cgroup.number(file)
        cgroup.close()
        if number == number:
            return int(number)
    return None


def read_shared_memory(path: str = SHARED, proc: str = PROC) -> SharedMemory | None:
    """Its size, and what programs that are gone have left in it; None where there is none."""
    try:
        space = os.statvfs(path)
        entries = list(os.scandir(path))[:MOST_LEFT]
    except OSError:
        return None
    left = []
    for entry in entries:
        match = _OF_PROCESS.match(entry.name)
        if match and not os.path.exists(f"{proc}/{match[1]}"):
            left.append(entry.stat(follow_symlinks=False).st_size)
    return SharedMemory(
        total_bytes=space.f_blocks * space.f_frsize,
        free_bytes=space.f_bavail * space.f_frsize,
        left_bytes=sum(left),
        left_files=len(left),
    )


def read_places(checkpoints: Iterable[str], runs: str, *, temporary: str = "") -> tuple[Place, ...]:
    """Where checkpoints, runs and temporary files go; a directory that is not there yet counts as the one above it."""
    wanted = [("checkpoints", path) for path in checkpoints]
    wanted += [("runs", runs)] if runs else []
    wanted.append(("temporary files", temporary or tempfile.gettempdir()))
    return tuple(read_place(purpose, path) for purpose, path in wanted)


def read_place(purpose: str, path: str) -> Place:
    """The disk that it would be written to."""
    path = os.path.abspath(path)
    there = path
    while purpose != "temporary files" and not os.path.exists(there) and there != "/":
        there = os.path.dirname(there)
    try:
        space = os.statvfs(there)
    except OSError as error:
        return Place(purpose=purpose, path=path, trouble=str(error.strerror))
    trouble = ""
    if space.f_flag & os.ST_RDONLY:
        trouble = "the file system is read-only"
    elif not os.path.isdir(there):
        trouble = f"{there} is no directory"
    elif not os.access(there, os.W_OK | os.X_OK):
        trouble = "this user may not"
    return Place(
        purpose=purpose,
        path=path,
        trouble=trouble,
        file_system=file_system(there),
        total_bytes=space.f_blocks * space.f_frsize,
        free_bytes=space.f_bavail * space.f_frsize,
        inodes=space.f_files,
        free_inodes=space.f_favail,
        quotas=Quotas().of(there),
    )
