"""The limits that really hold for a process: those of its cgroups, its ulimits, and of shared memory."""

import os

from holter.probes.cgroups import Cgroup, Chain, find_chain
from holter.probes.procfs import PROC, find_number, read_file

Limits = dict[str, tuple[int | None, int | None]]


def cgroup_memory_limit(pid: int, proc: str = PROC) -> int | None:
    """Return the lowest memory limit of the process's cgroup and its ancestors, or None without one."""
    chain = find_chain(pid, "memory", proc=proc)
    return _lowest(chain, "memory.max" if chain.is_unified else "memory.limit_in_bytes")


def cgroup_process_limit(pid: int, proc: str = PROC) -> int | None:
    """Return how many processes and threads there may be at once, or None without a limit."""
    return _lowest(find_chain(pid, "pids", proc=proc), "pids.max")


def cgroup_cpu_limit(pid: int, proc: str = PROC) -> float | None:
    """Return how many CPUs' time the process may use, such as 1.5, or None without a limit."""
    chain = find_chain(pid, "cpu", proc=proc)
    quotas = []
    for directory in chain.directories:
        cgroup = Cgroup(directory)
        if chain.is_unified:
            words = [word for word in cgroup.read("cpu.max").split() if word.isdigit()]
            quota, period = map(float, words) if len(words) == 2 else (-1.0, 1.0)
        else:
            # v1 says -1 where there is no quota, which is not a whole number to us: NaN, and so no limit.
            quota, period = cgroup.number("cpu.cfs_quota_us"), cgroup.number("cpu.cfs_period_us")
        cgroup.close()
        if quota > 0 and period > 0:
            quotas.append(quota / period)
    return min(quotas, default=None)


def parse_limits(text: bytes) -> Limits:
    """Return the soft and hard limits by name, such as `open_files`, from a `/proc/PID/limits`; None is unlimited."""
    limits = {}
    for line in text.decode().splitlines()[1:]:
        name, soft, hard = line[:26].strip(), *line[26:].split()[:2]
        key = name.removeprefix("Max ").replace(" ", "_")
        limits[key] = (int(soft) if soft.isdigit() else None, int(hard) if hard.isdigit() else None)
    return limits


def shared_memory_size(pid: int, proc: str = PROC) -> int | None:
    """Return the size of the `/dev/shm` that the process sees, or None where there is none to look at."""
    for path in (f"{proc}/{pid}/root/dev/shm", "/dev/shm"):
        try:
            space = os.statvfs(path)
        except OSError:
            continue
        return space.f_blocks * space.f_frsize
    return None


def overcommit_mode(proc: str = PROC) -> int | None:
    """Return whether Linux promises more memory than it has: 0 by a guess, 1 always, 2 never."""
    return find_number(read_file(f"{proc}/sys/vm/overcommit_memory") or b"")


def _lowest(chain: Chain, file: str) -> int | None:
    limits = []
    for directory in chain.directories:
        cgroup = Cgroup(directory)
        limits.append(cgroup.number(file))
        cgroup.close()
    return min((int(limit) for limit in limits if limit == limit), default=None)
