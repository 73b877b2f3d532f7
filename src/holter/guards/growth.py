"""Which processes of a run grow: the program itself, or its workers."""

from collections import deque

import msgspec

from holter.guards.seen import Seen
from holter.model.amounts import size

MOST_KEPT = 120
EVERY_S = 5.0
COPIES = "which copy what they share with the program"


class _Shot(msgspec.Struct, frozen=True):
    at_s: float
    program: float
    workers: float
    count: int
    private: float
    """Of the workers, without what they share; NaN where it is not known of all."""


class Growth:
    """What the program and its workers held in the last ten minutes."""

    def __init__(self) -> None:
        self._shots: deque[_Shot] = deque(maxlen=MOST_KEPT)

    def take(self, seen: Seen) -> None:
        """Remember this moment, unless it is too soon."""
        if self._shots and seen.now_s - self._shots[-1].at_s < EVERY_S:
            return
        workers = [each.own_bytes for each in seen.members.values() if not each.is_root]
        program = sum(each.own_bytes for each in seen.members.values() if each.is_root)
        private = sum(each.private_bytes for each in seen.members.values() if not each.is_root)
        self._shots.append(_Shot(seen.now_s, program, sum(workers), len(workers), private))

    def where(self, since_s: float) -> str:
        """`the program`, `8 workers, 610 MiB each`; empty where it can't be told."""
        if len(self._shots) < 2:
            return ""
        before = next((each for each in self._shots if each.at_s >= since_s), self._shots[0])
        now = self._shots[-1]
        if before is now:
            before = self._shots[-2]
        program, workers = now.program - before.program, now.workers - before.workers
        copied = self._copied(now)
        if copied > max(program, workers):
            return f"{now.count} workers, {COPIES}, {size(now.private / now.count)} each"
        if max(program, workers) <= 0:
            return "processes that are not of this run" if now.program and not now.count else ""
        if program >= workers:
            return "the program"
        return f"{now.count} workers, {size(now.workers / max(1, now.count))} each"

    def _copied(self, now: _Shot) -> float:
        """By how much the same number of workers has copied more than before, beside what they took anew."""
        known = [each for each in self._shots if each.private == each.private and each.count == now.count]
        if not now.count or now.private != now.private:
            return 0.0
        return now.private - known[0].private - max(0.0, now.workers - known[0].workers)
