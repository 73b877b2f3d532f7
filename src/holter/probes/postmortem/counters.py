"""Linux's out-of-memory counters: of the cgroups that bound a process, and of the whole machine.

Version 1 counts a kill in the victim's own cgroup only, whosever limit was reached; version 2 counts it in all that are
above too. `/proc/vmstat` counts every kill of the machine, also those in other containers.
"""

import os
import time
from collections import deque

import msgspec

from holter.model.evidence import Counters, MemoryLevel, Unseen
from holter.model.records import Looked
from holter.probes.cgroups import UNIFIED, Cgroup, find_chain, parse_memberships
from holter.probes.live.cgroup import V1, V2, MemoryFiles, limit_hits
from holter.probes.postmortem.past import Past
from holter.probes.procfs import PROC, find_number, read_file

TURN = 2
# Many children may die at once.
SAME_LOOK_S = 0.02
# A process that was killed may take seconds to give its memory back before it is seen to be dead.
TICKS_OF_LATE = 10
LOCAL_EVENTS = "memory.events.local"


class Level(msgspec.Struct, frozen=True):
    """A cgroup whose files stay open, and what its counters stood at when the run began."""

    number: int
    path: str
    inode: int
    cgroup: Cgroup
    files: MemoryFiles
    kills_before: int | None
    hits_before: int | None


class CgroupCounters:
    """Owns the open files of one process's memory cgroups. Made while it lives; closed by its owner.

    Args:
        pid: of a living process.
        host_kills_before: what `read_host_kills` said when the run began.
    """

    def __init__(self, pid: int, *, host_kills_before: int | None, proc: str = PROC) -> None:
        self._proc = proc
        self._host_kills_before = host_kills_before
        self._levels = open_levels(pid, proc)
        self._looked_at = 0.0
        self._last: Counters | None = None
        self._own_kills = deque([self._count_own_kills()], maxlen=TICKS_OF_LATE)

    def baseline(self) -> Counters:
        """What the counters stood at when the run began, so that somebody can say later how far they moved."""
        levels = tuple(
            MemoryLevel(
                level=each.number,
                path=each.path,
                limit_bytes=_number(each.cgroup.number(each.files.limit)),
                peak_bytes=_number(each.cgroup.number(each.files.peak)),
                kills_before=each.kills_before,
                limit_hits_before=each.hits_before,
                directory=each.cgroup.directory,
                inode=each.inode,
            )
            for each in self._levels
        )
        return Counters(levels=levels, host_kills_before=self._host_kills_before)

    def tick(self) -> int | None:
        """Once a second: remember what the counter of the own cgroup stands at. Returns it where it has moved."""
        before, now = self._own_kills[-1], self._count_own_kills()
        self._own_kills.append(now)
        return now if now != before else None

    def look(self, outlived: int | None = None) -> Counters:
        """How far the counters have moved since the run began. At once: a cgroup may go with its last process.

        Args:
            outlived: what `tick` returned when the process in question was last seen to have been spared.
        """
        found = self._look()
        if outlived is None or not found.levels:
            return found
        lately = since(outlived, self._count_own_kills())
        return msgspec.structs.replace(
            found, levels=(msgspec.structs.replace(found.levels[0], kills_lately=lately), *found.levels[1:])
        )

    def _look(self) -> Counters:
        if self._last is None or time.monotonic() - self._looked_at > SAME_LOOK_S:
            host_kills = since(self._host_kills_before, read_host_kills(self._proc))
            levels = [_look_at(each) for each in self._levels]
            if levels:
                lately = since(self._own_kills[0], self._count_own_kills())
                levels[0] = msgspec.structs.replace(levels[0], kills_lately=lately)
            self._last = Counters(levels=tuple(levels), host_kills=host_kills)
            self._looked_at = time.monotonic()
        return self._last

    def close(self) -> None:
        """Idempotent."""
        for each in self._levels:
            each.cgroup.close()

    def _count_own_kills(self) -> int | None:
        return _kills(self._levels[0].cgroup, self._levels[0].files) if self._levels else None


def open_levels(pid: int, proc: str = PROC) -> list[Level]:
    """Return the memory cgroups of a process, its own first; above it only those that count kills."""
    chain = find_chain(pid, "memory", proc=proc)
    files = V2 if chain.is_unified else V1
    members = parse_memberships(read_file(f"{proc}/{pid}/cgroup") or b"")
    path = members.get(UNIFIED if chain.is_unified else "memory", "/")
    levels = []
    for number, directory in enumerate(chain.directories):
        cgroup = Cgroup(directory)
        if number == 0 or cgroup.read(files.events):
            levels.append(_open_level(number, path, cgroup=cgroup, files=files))
        path = os.path.dirname(path) or "/"
    return levels


def later(past: Past) -> Looked | None:
    """What the cgroup and the machine have counted since the run began, in milliseconds.

    The counters moved on after the end; but those that stand still prove that nobody was killed.
    """
    known = [each for each in past.said("counters", past.pid) if isinstance(each, Counters)]
    firsts = [each for each in known if each.is_first]
    if not past.is_this_boot or len(firsts) < len(known) or not firsts:
        return None
    return past.answer("counters", look_later(firsts[-1]), pid=past.pid)


def look_later(before: Counters, proc: str = PROC) -> Counters | Unseen:
    """Ask the same counters in the same boot after whoever watched is gone: `before` is its `baseline`.

    What was counted after the end of the run is in it too.
    """
    levels = [each for each in map(_look_at_later, before.levels) if each is not None]
    host_kills = since(before.host_kills_before, read_host_kills(proc))
    if not levels and host_kills is None:
        return Unseen(because="the run's container or job (cgroup) is gone, and its counters with it")
    return Counters(levels=tuple(levels), host_kills=host_kills)


def read_host_kills(proc: str = PROC) -> int | None:
    """Return how many processes Linux has killed for memory since boot, None where it does not count them."""
    return find_number(read_file(f"{proc}/vmstat") or b"", b"oom_kill ")


def since(before: int | None, now: int | None) -> int | None:
    """Return how far a counter moved, None where it could not be read both times."""
    return None if before is None or now is None else max(0, now - before)


def _open_level(number: int, path: str, *, cgroup: Cgroup, files: MemoryFiles) -> Level:
    return Level(
        number=number,
        path=path,
        inode=_inode(cgroup.directory),
        cgroup=cgroup,
        files=files,
        kills_before=_kills(cgroup, files),
        hits_before=_hits(cgroup, files),
    )


def _look_at(level: Level) -> MemoryLevel:
    cgroup, files = level.cgroup, level.files
    return MemoryLevel(
        level=level.number,
        path=level.path,
        limit_bytes=_number(cgroup.number(files.limit)),
        peak_bytes=_number(cgroup.number(files.peak)),
        kills=since(level.kills_before, _kills(cgroup, files)),
        limit_hits=since(level.hits_before, _hits(cgroup, files)),
    )


def _look_at_later(before: MemoryLevel) -> MemoryLevel | None:
    # Another cgroup may have been made in its place.
    if not before.directory or _inode(before.directory) != before.inode:
        return None
    cgroup = Cgroup(before.directory)
    try:
        files = V2 if cgroup.read(V2.events) else V1
        level = Level(
            number=before.level,
            path=before.path,
            inode=before.inode,
            cgroup=cgroup,
            files=files,
            kills_before=before.kills_before,
            hits_before=before.limit_hits_before,
        )
        return _look_at(level)
    finally:
        cgroup.close()


def _kills(cgroup: Cgroup, files: MemoryFiles) -> int | None:
    return _whole(cgroup.number(files.events, b"oom_kill "))


def _hits(cgroup: Cgroup, files: MemoryFiles) -> int | None:
    """Return how often this cgroup's own limit was reached; the main file of version 2 has those below it too."""
    if files is V2 and cgroup.read(LOCAL_EVENTS):
        return _whole(cgroup.number(LOCAL_EVENTS, b"max "))
    return _whole(limit_hits(cgroup, files))


def _inode(directory: str) -> int:
    try:
        return os.stat(directory).st_ino
    except OSError:
        return 0


def _number(value: float) -> float | None:
    return value if value == value else None


def _whole(value: float) -> int | None:
    return int(value) if value == value else None
