"""The cgroups that bound the run, v1 and v2: memory and out-of-memory kills at every level, CPU quota, processes."""

import os
from collections.abc import Iterable, Sequence

import msgspec

from holter.probes.cgroups import Cgroup, Chain, find_chain
from holter.probes.probe import NAN, Probe, Target
from holter.probes.procfs import PROC, find_number, read_file, read_stat
from holter.probes.totals import Counter, known, sum_known


class MemoryFiles(msgspec.Struct, frozen=True):
    """Where a version of cgroups keeps its memory numbers: file names, and labels inside them."""

    usage: str
    limit: str
    peak: str
    events: str
    inactive: bytes
    active: bytes
    oom: bytes | None
    limit_hits: tuple[tuple[str, bytes], ...]


V1 = MemoryFiles(
    usage="memory.usage_in_bytes",
    limit="memory.limit_in_bytes",
    peak="memory.max_usage_in_bytes",
    events="memory.oom_control",
    inactive=b"total_inactive_file ",
    active=b"total_active_file ",
    oom=None,
    # Where memory and swap have one common limit, only the second of them moves.
    limit_hits=(("memory.failcnt", b""), ("memory.memsw.failcnt", b"")),
)
V2 = MemoryFiles(
    usage="memory.current",
    limit="memory.max",
    peak="memory.peak",
    events="memory.events",
    inactive=b"inactive_file ",
    active=b"active_file ",
    oom=b"oom ",
    limit_hits=(("memory.events", b"max "),),
)


class CgroupProbe:
    """Follows the cgroups of all roots; level 0 is a root's own cgroup, 1 its parent, and so on.

    Roots of one host may sit in several cgroups, as the tasks of a scheduler do. Then a level's counters are summed
    over them, and its memory is that of the one with the least room left.
    """

    def __init__(self, proc: str = PROC) -> None:
        self._proc = proc
        self._members: set[bytes] = set()
        self._memory: dict[int, list[tuple[Cgroup, MemoryFiles]]] = {}
        self._cpu: list[tuple[Cgroup, bool]] = []
        self._pids: list[Cgroup] = []
        self._limited: set[int] = set()
        self._counters: dict[str, Counter] = {}

    def sample(self, target: Target) -> dict[str, float | int]:
        """Return the numbers of level 0 and of every level above it that has a limit; `oom_kill` of all levels."""
        self._follow(target.roots)
        row: dict[str, float | int] = {}
        for level, cgroups in self._memory.items():
            row.update(self._memory_of(level, cgroups))
        row.update(self._cpu_time())
        row.update(tightest_pids(self._pids))
        return row

    def close(self) -> None:
        """Close all files; idempotent."""
        opened = [cgroup for level in self._memory.values() for cgroup, _ in level]
        for cgroup in [*opened, *self._pids, *(cgroup for cgroup, _ in self._cpu)]:
            cgroup.close()
        self._members, self._memory, self._cpu, self._pids = set(), {}, [], []
        self._limited = set()

    def _follow(self, roots: Sequence[int]) -> None:
        """Open the cgroups anew when a root has moved; those of the dead stay open until then."""
        # Roots in the same cgroups, the usual case, are one.
        members = {text: pid for pid in roots if (text := read_file(f"{self._proc}/{pid}/cgroup"))}
        if all(text in self._members or self._is_leaving(pid) for text, pid in members.items()):
            return
        self.close()
        self._members = set(members)
        self._memory = open_levels([find_chain(pid, "memory", proc=self._proc) for pid in members.values()])
        self._cpu = open_cgroups([find_chain(pid, "cpu", proc=self._proc) for pid in members.values()])
        pids = open_cgroups([find_chain(pid, "pids", proc=self._proc) for pid in members.values()])
        self._pids = [cgroup for cgroup, _ in pids]

    def _is_leaving(self, pid: int) -> bool:
        # Version 1 shows a process that exits as a member of the topmost cgroup. The flag is set before that.
        stat = read_stat(pid, self._proc)
        return stat is None or stat.is_exiting

    def _memory_of(self, level: int, cgroups: list[tuple[Cgroup, MemoryFiles]]) -> dict[str, float | int]:
        name = f"cgroup/{level}"
        kills = {cgroup.directory: cgroup.number(files.events, b"oom_kill ") for cgroup, files in cgroups}
        row: dict[str, float | int] = {f"{name}/oom_kill": self._count(f"{name}/oom_kill", kills)}
        usages = [(cgroup.number(files.usage), cgroup.number(files.limit)) for cgroup, files in cgroups]
        tightest = min(range(len(cgroups)), key=lambda index: room(*usages[index]))
        (cgroup, files), (usage, limit) = cgroups[tightest], usages[tightest]
        if limit == limit:
            self._limited.add(level)
        if level > 0 and level not in self._limited:
            return row
        # Adding up this file is the dearest read of all, and without a limit nobody asks what could be given back.
        stat = cgroup.read("memory.stat") if limit == limit else b""
        ooms = {cgroup.directory: cgroup.number(files.events, files.oom) for cgroup, files in cgroups if files.oom}
        hits = {cgroup.directory: limit_hits(cgroup, files) for cgroup, files in cgroups}
        return row | {
            f"{name}/usage_bytes": usage,
            f"{name}/limit_bytes": limit,
            f"{name}/peak_bytes": cgroup.number(files.peak),
            f"{name}/inactive_file_bytes": known(find_number(stat, files.inactive)),
            f"{name}/active_file_bytes": known(find_number(stat, files.active)),
            f"{name}/oom": self._count(f"{name}/oom", ooms),
            f"{name}/limit_hits": self._count(f"{name}/limit_hits", hits),
        }

    def _cpu_time(self) -> dict[str, float | int]:
        quotas = [cpu_quota(cgroup, is_unified) for cgroup, is_unified in self._cpu]
        limited = [pair for pair, quota in zip(self._cpu, quotas, strict=True) if quota == quota]
        throttled = {cgroup.directory: throttled_s(cgroup, is_unified) for cgroup, is_unified in limited}
        return {
            "cgroup/cpu_quota_cores": min((quota for quota in quotas if quota == quota), default=NAN),
            "cgroup/cpu_throttled_s": self._count("cgroup/cpu_throttled_s", throttled),
        }

    def _count(self, key: str, readings: dict[str, float]) -> float:
        return self._counters.setdefault(key, Counter()).advance(readings)


def open_levels(chains: list[Chain]) -> dict[int, list[tuple[Cgroup, MemoryFiles]]]:
    """Return the cgroups by distance from the roots' own, each once; above the own only those that count kills."""
    levels = {}
    for level in range(max((len(chain.directories) for chain in chains), default=0)):
        files = {c.directories[level]: V2 if c.is_unified else V1 for c in chains if level < len(c.directories)}
        pairs = [(Cgroup(directory), of_version) for directory, of_version in files.items()]
        if level == 0 or any(cgroup.read(of_version.events) for cgroup, of_version in pairs):
            levels[level] = pairs
    return levels


def open_cgroups(chains: list[Chain]) -> list[tuple[Cgroup, bool]]:
    """Return the cgroups of all chains, each once, with whether they are of v2."""
    versions = {directory: chain.is_unified for chain in chains for directory in chain.directories}
    return [(Cgroup(directory), is_unified) for directory, is_unified in versions.items()]


def room(current: float, most: float) -> float:
    """Return how much is left below a limit, infinite without one."""
    left = most - current
    return left if left == left else float("inf")


def limit_hits(cgroup: Cgroup, files: MemoryFiles) -> float:
    """Return how often the cgroup's memory was about to pass its limit."""
    return sum_known(cgroup.number(file, label) for file, label in files.limit_hits)


def cpu_quota(cgroup: Cgroup, is_unified: bool) -> float:
    """Return how many processors' time the cgroup may use, NaN for any number."""
    if is_unified:
        quota, _, period = cgroup.read("cpu.max").partition(b" ")
        return int(quota) / int(period) if quota.isdigit() else NAN
    return cgroup.number("cpu.cfs_quota_us") / cgroup.number("cpu.cfs_period_us")


def throttled_s(cgroup: Cgroup, is_unified: bool) -> float:
    """Return for how long the cgroup was kept from running by its quota."""
    if is_unified:
        return cgroup.number("cpu.stat", b"throttled_usec ") / 1e6
    return cgroup.number("cpu.stat", b"throttled_time ") / 1e9


def tightest_pids(cgroups: Iterable[Cgroup]) -> dict[str, float | int]:
    """Return processes and threads, and their greatest number, of the cgroup that is nearest to it."""
    pairs = [(cgroup.number("pids.current"), cgroup.number("pids.max")) for cgroup in cgroups]
    current, most = min(pairs, key=lambda pair: room(*pair), default=(NAN, NAN))
    return {"cgroup/pids_current": current, "cgroup/pids_max": most}


def open_probe(proc: str = PROC) -> Probe | None:
    """Return the probe, or None where the system has no cgroups."""
    return CgroupProbe(proc) if os.path.exists(f"{proc}/self/cgroup") else None
