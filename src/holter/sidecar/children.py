"""Sees how the program's child processes end, whoever started them."""

import os
import re
import select
import time
from collections.abc import Iterator, Sequence

import msgspec

from holter.model.clock import Clock
from holter.model.records import ChildExited
from holter.model.thinning import Thinning
from holter.probes.postmortem.exit_witnesses import ExitWitnesses
from holter.probes.procfs import PROC, read_file, read_stat

MOST_CHILDREN = 256
MOST_NEW = 32
MOST_COMMAND = 200
# How long a dead child may wait to be reaped until we do without its exit status.
STATUS_WITHIN_NS = 2_000_000_000


class Child(msgspec.Struct):
    """A child whose end we wait for."""

    pid: int
    started: int
    pidfd: int
    command: str
    is_new: bool = True
    died_at_ns: int = 0


class Children:
    """Waits for the descendants of a run's processes, as many as it may. Closed by its owner.

    A child that comes and goes between two ticks is only heard of, and only where Linux announces exits; without
    pidfds no other child is seen at all.
    """

    def __init__(self, clock: Clock, exits: ExitWitnesses) -> None:
        self._clock = clock
        self._exits = exits
        self._children: dict[int, Child] = {}
        self._told: set[int] = set()
        self._roots: set[int] = set()
        self._heard, _ = exits.children_since(0)  # what was before this run is none of its business
        self._clean, self._unclean = Thinning(), Thinning()

    @property
    def pidfds(self) -> list[int]:
        """Those of the living: each becomes readable when its process dies."""
        return [each.pidfd for each in self._children.values() if not each.died_at_ns]

    def add_root(self, pid: int) -> None:
        """A process of the run, whose children are ours."""
        self._roots.add(pid)

    def meet(self, pids: Sequence[int]) -> list[int]:
        """At each tick: these are the descendants that there are now. Returns those that were new at the last tick."""
        self._told &= set(pids)  # the dead whom nobody has waited for yet
        settled = [each for each in self._children.values() if each.is_new and not each.died_at_ns]
        for each in settled:  # by now it has become the program that it was started for
            each.is_new, each.command = False, read_command(each.pid) or each.command
        new = [pid for pid in pids if pid not in self._children and pid not in self._told]
        for pid in new[: min(MOST_NEW, MOST_CHILDREN - len(self._children))]:
            if (child := _open(pid)) is not None:
                self._children[pid] = child
                self._exits.follow(pid, child.pidfd)
        return [each.pid for each in settled]

    def look_for_deaths(self) -> list[ChildExited]:
        """How those ended that have died since; never blocks. One whose status can't be read yet comes later."""
        heard = list(self._hear())
        if not self._children:
            return heard
        now_ns = self._clock.now_ns()
        readable = _readable(self.pidfds)
        for each in self._children.values():
            each.died_at_ns = each.died_at_ns or (now_ns if each.pidfd in readable else 0)
        dead = [each for each in self._children.values() if each.died_at_ns]
        return [*heard, *(exited for each in dead if (exited := self._tell(each, now_ns)) is not None)]

    def close(self) -> None:
        """Wait for nobody any more. Idempotent."""
        for each in self._children.values():
            os.close(each.pidfd)
            self._exits.forget(each.pid)
        self._children.clear()

    def _hear(self) -> Iterator[ChildExited]:
        """Those whom we never met, and who did not end well."""
        self._heard, announced = self._exits.children_since(self._heard)
        family = self._roots | self._children.keys() | self._told
        for each in announced:
            if (
                family.isdisjoint((each.parent, *each.ancestors))
                or each.pid in self._children
                or each.pid in self._told
                or not each.status
            ):
                continue
            stat = read_stat(each.pid)
            is_there = stat is not None and stat.is_exiting  # else its pid may be another's by now
            command = read_command(each.pid) if is_there else ""
            self._told.add(each.pid)
            if times := self._unclean.count((re.sub(r"\d+", "#", command), each.status)):
                yield ChildExited(
                    at_ns=self._clock.now_ns() - max(0, time.monotonic_ns() - each.at_ns),
                    pid=each.pid,
                    source="connector",
                    status=each.status,
                    command=command,
                    process_started=stat.started if stat is not None and is_there else 0,
                    times=times,
                )

    def _tell(self, child: Child, now_ns: int) -> ChildExited | None:
        found = self._exits.read(child.pidfd, child.pid, started=child.started)
        if found is None and _is_there(child):
            if now_ns - child.died_at_ns < STATUS_WITHIN_NS:
                return None
        elif found is None:  # it may have been reaped between our two looks
            found = self._exits.read(child.pidfd, child.pid, started=child.started)
        os.close(child.pidfd)
        self._exits.forget(child.pid)
        del self._children[child.pid]
        self._told.add(child.pid)
        status, source = (found.status, found.source) if found else (None, "gone")
        thinning = self._clean if status == 0 else self._unclean
        times = thinning.count((re.sub(r"\d+", "#", child.command), status))
        if not times:
            return None
        return ChildExited(
            at_ns=child.died_at_ns,
            pid=child.pid,
            source=source,
            status=status,
            command=child.command,
            process_started=child.started,
            times=times,
        )


def read_command(pid: int, proc: str = PROC) -> str:
    """The beginning of a process's command line without its secrets; its name where it has none, such as a zombie."""
    from holter.probes.facts import command_line  # ten milliseconds, for which nobody who starts a run should wait

    if arguments := command_line(read_file(f"{proc}/{pid}/cmdline") or b""):
        return " ".join(arguments)[:MOST_COMMAND]
    name = (read_file(f"{proc}/{pid}/comm") or b"").decode(errors="replace").strip()
    return f"[{name}]" if name else ""


def _open(pid: int) -> Child | None:
    try:
        pidfd = os.pidfd_open(pid)
    except (AttributeError, OSError):  # gone already, an old kernel, another system, or no descriptor left
        return None
    stat = read_stat(pid)
    if stat is None:
        os.close(pidfd)
        return None
    return Child(pid, stat.started, pidfd, read_command(pid))


def _readable(fds: list[int]) -> set[int]:
    poll = select.poll()
    for fd in fds:
        poll.register(fd, select.POLLIN)
    return {fd for fd, _ in poll.poll(0)}


def _is_there(child: Child) -> bool:
    stat = read_stat(child.pid)
    return stat is not None and stat.started == child.started
