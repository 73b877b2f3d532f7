"""Who held the most memory near the end: all processes of the machine, with those of the run as they were last seen."""

import os
from collections.abc import Collection, Iterable, Mapping

import msgspec

from holter.model.evidence import Holder, KernelLog, ProcessTable
from holter.probes.cgroups import UNIFIED, parse_memberships
from holter.probes.facts import command_line
from holter.probes.postmortem.scene import Scene
from holter.probes.procfs import PROC, list_numbers, read_file

TURN = 4
MOST_HOLDERS, MOST_WITHIN, MOST_EXAMINED = 10, 6, 64
MOST_NAME = 120
# Below this share of free memory it is worth to look at every process.
SCARCE_SHARE = 0.15
STAT_RSS = 21


class Resident(msgspec.Struct, frozen=True):
    """A process, its short name and the memory that it has in use."""

    pid: int
    name: str
    rss_bytes: int


def look(ours: Mapping[int, Holder], bounded: Collection[str], *, proc: str = PROC) -> ProcessTable:
    """Return the largest processes of the machine, and of the cgroups that bound the run. Without this process.

    Args:
        ours: the run's own as they were last seen, for they may be dead by now.
        bounded: the cgroups with a limit that the run is in.
    """
    residents = sorted(read_table(proc), key=lambda each: -each.rss_bytes)
    others = [each for each in residents if each.pid not in ours and each.pid != os.getpid()]
    found = [
        Holder(
            pid=each.pid, name=each.name, rss_bytes=each.rss_bytes, is_within=is_within(each.pid, bounded, proc=proc)
        )
        for each in others[:MOST_EXAMINED]
    ]
    own = [msgspec.structs.replace(each, is_within=bool(bounded)) for each in ours.values()]
    chosen = choose([*own, *found])
    return ProcessTable(holders=tuple(each if each.is_ours else _with_command(each, proc) for each in chosen))


def at_death(scene: Scene) -> None:
    """Of somebody who may have been killed for memory: who held it.

    The last sample of the dead may be a second old, and Linux says what they had.
    """
    deaths, log = scene.unclean, scene.said.get("kernel-log")
    if not any(death.may_be_for_memory for death in deaths):
        return
    told = {kill.pid: kill.anon_bytes for kill in log.kills} if isinstance(log, KernelLog) else {}
    seen = {pid: holder for death in deaths for pid, holder in death.holders.items()}
    ours = {
        pid: msgspec.structs.replace(holder, rss_bytes=max(holder.rss_bytes, told.get(pid, 0)))
        for pid, holder in seen.items()
    }
    scene.say("process-table", look(ours, {path for death in deaths for path in death.bounded}))


def choose(holders: Iterable[Holder]) -> list[Holder]:
    """Return the largest, and the largest of those that share the run's limit, the largest first."""
    ranked = sorted(holders, key=lambda each: -each.rss_bytes)
    within = [each for each in ranked if each.is_within][:MOST_WITHIN]
    chosen = {each.pid: each for each in [*ranked[:MOST_HOLDERS], *within]}
    return sorted(chosen.values(), key=lambda each: -each.rss_bytes)


def is_within(pid: int, bounded: Collection[str], *, proc: str = PROC) -> bool:
    """Whether a process is in one of these memory cgroups, or in one below."""
    if not bounded:
        return False
    members = parse_memberships(read_file(f"{proc}/{pid}/cgroup") or b"")
    path = members.get("memory", members.get(UNIFIED, ""))
    return any(f"{path}/".startswith(f"{limited.rstrip('/')}/") for limited in bounded)


def _with_command(holder: Holder, proc: str) -> Holder:
    return msgspec.structs.replace(holder, name=read_name(holder.pid, proc) or holder.name)


def read_table(proc: str = PROC) -> list[Resident]:
    """Return every process that has memory. Some 20 µs for each process there is, so not for every tick."""
    texts = ((pid, read_file(f"{proc}/{pid}/stat")) for pid in list_numbers(proc))
    parsed = [parse_resident(pid, text) for pid, text in texts if text]
    return [each for each in parsed if each.rss_bytes]


def parse_resident(pid: int, text: bytes) -> Resident:
    """Take the name and the memory out of a `/proc/PID/stat`."""
    name = text[text.index(b"(") + 1 : text.rindex(b")")].decode(errors="replace")
    pages = int(text[text.rindex(b")") + 2 :].split()[STAT_RSS])
    return Resident(pid, name, pages * os.sysconf("SC_PAGE_SIZE"))


def read_name(pid: int, proc: str = PROC) -> str:
    """The beginning of a process's command line without its secrets; empty where it has none."""
    return " ".join(command_line(read_file(f"{proc}/{pid}/cmdline") or b""))[:MOST_NAME]


def is_scarce(row: Mapping[str, float | int]) -> bool:
    """Whether the machine, or a cgroup that bounds the run, has little memory left, by one row of samples."""
    nan = float("nan")
    available, total = (
        row.get("system/host/memory_available_bytes", nan),
        row.get("system/host/memory_total_bytes", nan),
    )
    if available < SCARCE_SHARE * total:
        return True
    for key, limit in row.items():
        if key.startswith("system/cgroup/") and key.endswith("/limit_bytes"):
            level = key.removesuffix("/limit_bytes")
            used = row.get(f"{level}/usage_bytes", nan) - (row.get(f"{level}/inactive_file_bytes", 0.0) or 0.0)
            if used > (1 - SCARCE_SHARE) * limit:
                return True
    return False
