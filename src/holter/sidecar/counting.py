"""Keeps the out-of-memory counters of a run's processes within reach of the moment in which one of them dies."""

import os
from collections.abc import Callable, Iterator

from holter.model.clock import Clock
from holter.model.evidence import Counters
from holter.model.record import Record
from holter.probes.postmortem.answers import answer
from holter.probes.postmortem.counters import CgroupCounters, read_host_kills
from holter.probes.procfs import PROC, read_file, read_stat

MOST_CGROUPS = 16
MOST_PROCESSES = 1024


class Counting:
    """Owns open counters of each cgroup in which a process of the run is. One thread; closed by its owner.

    Args:
        record: keeps a sentence in the sidecar's journal.
    """

    def __init__(self, record: Callable[[Record], None], clock: Clock, *, proc: str = PROC) -> None:
        self.paths: frozenset[str] = frozenset()
        """The cgroups of the run's processes as Linux calls them."""
        self.bounded: frozenset[str] = frozenset()
        """Those of them, and of the ones above, that have a limit."""
        self._record = record
        self._clock = clock
        self._proc = proc
        self._host_kills_before = read_host_kills(proc)
        self._by_membership: dict[bytes, CgroupCounters] = {}
        self._membership_of: dict[int, bytes] = {}
        self._outlived: dict[int, int] = {}
        """By pid: the count of kills for memory of which it was seen not to be one."""

    def follow(self, pid: int) -> None:
        """The process lives: find its cgroup, in which it may be new. Cheap enough for every tick."""
        membership = read_file(f"{self._proc}/{pid}/cgroup")
        if not membership or membership == self._membership_of.get(pid):
            return
        if len(self._membership_of) > MOST_PROCESSES:  # of most children's ends nobody tells us
            living = {pid for pid in self._membership_of if os.path.exists(f"{self._proc}/{pid}")}
            self._membership_of = {pid: text for pid, text in self._membership_of.items() if pid in living}
        stat = read_stat(pid, self._proc)
        if stat is None or stat.is_exiting:  # version 1 shows it as a member of the topmost cgroup by now
            return
        if membership not in self._by_membership:
            if len(self._by_membership) >= MOST_CGROUPS:
                return
            opened = CgroupCounters(pid, host_kills_before=self._host_kills_before, proc=self._proc)
            self._by_membership[membership] = opened
            before = opened.baseline()
            self.paths |= {level.path for level in before.levels if level.level == 0}
            self.bounded |= {level.path for level in before.levels if level.limit_bytes}
            self._record(answer("counters", before, at_ns=self._clock.now_ns(), pid=pid))
        self._membership_of[pid] = membership

    def tick(self) -> None:
        """Once a second."""
        for membership, each in self._by_membership.items():
            kills = each.tick()
            if kills is not None:
                self._outlived.update(dict.fromkeys(self._spared(membership), kills))

    def look(self, pid: int) -> Counters | None:
        """How far the counters of a process that has just died have moved; None where they were never found.

        One that came and went too fast is taken to have been where the others are.
        """
        membership = self._membership_of.get(pid) or next(iter(self._membership_of.values()), b"")
        counters = self._by_membership.get(membership)
        return counters.look(self._outlived.get(pid)) if counters is not None else None

    def forget(self, pid: int) -> None:
        """The process is gone; the last one's cgroup is kept."""
        if len(self._membership_of) > 1:
            self._membership_of.pop(pid, None)
        self._outlived.pop(pid, None)

    def _spared(self, membership: bytes) -> Iterator[int]:
        """Those in a cgroup who live on, though Linux has just killed somebody in it."""
        for pid in [pid for pid, text in self._membership_of.items() if text == membership]:
            stat = read_stat(pid, self._proc)
            if stat is not None and not (stat.is_exiting or stat.is_dead or stat.is_condemned):
                yield pid

    def close(self) -> None:
        """Idempotent."""
        for each in self._by_membership.values():
            each.close()
