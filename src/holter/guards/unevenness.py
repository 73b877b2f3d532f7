"""Whether some steps have come to take many times longer than the usual one, which has not changed.

Two stretches of a run of the same length are compared, its first and its last: what recurs there from the beginning,
as validation and checkpoints do, is no news. Nor is what has begun since at regular distances, in steps or in time.
"""

import math
from collections import deque
from collections.abc import Sequence

import msgspec

from holter.guards.limits import Limits
from holter.guards.regularity import Pause, are_regular
from holter.guards.seen import Seen

LOOK_EVERY_S = 15.0
LOOK_S = 1.0
LEAST_PAUSE_S = LOOK_S
"""Shorter pauses are not told from rows that come in heaps."""
LEAST_PAUSES = 4
"""In each half of the stretch: fewer are no habit."""
MOST_BEATS = 1000


class Uneven(msgspec.Struct, frozen=True, kw_only=True):
    """What was found in the last stretch."""

    pauses: int
    usual_s: float
    length_s: float
    share: float
    """Of the time, spent in pauses."""
    before_share: float


class _Beat(msgspec.Struct, frozen=True):
    """What came between two looks: the seconds up to its last row, and for how many steps."""

    at_s: float
    length_s: float
    step: int
    count: int

    def pause_s(self, usual_s: float, times: float) -> float:
        """How long its slowest step took, if all others took what is usual; 0 where that is no pause."""
        slowest = self.length_s - (self.count - 1) * usual_s
        return slowest if slowest >= max(LEAST_PAUSE_S, times * usual_s) else 0.0


class Unevenness:
    """Follows the steps of one run. One thread."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._beats: deque[_Beat] = deque(maxlen=MOST_BEATS)
        self._last: tuple[float, int, int] | None = None
        self._cell: int | None = None
        self._first: tuple[float, float, float] | None = None
        """Of the first stretch: its length, the usual step, the share of pauses."""
        self._looked_s = -math.inf
        self._found: Uneven | None = None

    def look(self, seen: Seen) -> Uneven | None:
        """What is so now; None where steps are even, or were not from the beginning on."""
        self._take(seen)
        if self._beats and seen.now_s - self._looked_s >= LOOK_EVERY_S:
            self._looked_s = seen.now_s
            if self._first is None:
                self._first = self._begin()
            else:
                self._found = self._judge(*self._first)
        return self._found

    def _take(self, seen: Seen) -> None:
        progress = seen.progress
        if progress.is_at_rest or progress.cell != self._cell:  # nobody waits for a row between two cells
            self._last, self._cell = None, progress.cell
            return
        if progress.step is None or progress.last_s != progress.last_s:
            return
        now = (progress.last_s, progress.rows, progress.step)
        if self._last is not None and now[1] > self._last[1]:
            rows, steps = now[1] - self._last[1], now[2] - self._last[2]
            # Rows that are logged every fifty steps are one piece of work each; several for one step are one, too.
            count = min(rows, steps) if steps > 0 else rows
            self._beats.append(_Beat(now[0], max(0.0, now[0] - self._last[0]), now[2], count))
        if self._last is None or now[1] > self._last[1]:
            self._last = now

    def _begin(self) -> tuple[float, float, float] | None:
        """The first stretch, once it is long enough: without its first beat, which compiles and fills caches."""
        beats = list(self._beats)[1:]
        if not beats:
            return None
        usual_s = _usual(beats)
        length_s = max(self._limits.uneven_least_s, self._limits.uneven_steps * usual_s)
        if sum(beat.length_s for beat in beats) < length_s:
            return None
        self._beats.clear()
        return length_s, usual_s, self._share(beats, usual_s)

    def _judge(self, length_s: float, usual_s: float, before_share: float) -> Uneven | None:
        beats, halves = self._last_of(length_s)
        if before_share > self._limits.even_share or not halves:
            return None
        if _usual(beats) > self._limits.slower_times * usual_s:
            return None  # all of them are slower
        for half in halves:
            pauses = self._pauses(half, usual_s)
            # One long pause is no habit, whatever its share.
            lengths = sorted(each.length_s for each in pauses)[:-1]
            if len(pauses) < LEAST_PAUSES or sum(lengths) < self._limits.uneven_share * length_s / 2:
                return None
        pauses = self._pauses(beats, usual_s)
        if are_regular(pauses, steps_per_look=LOOK_S / usual_s if usual_s > 0 else math.inf):
            return None
        return Uneven(
            pauses=len(pauses),
            usual_s=usual_s,
            length_s=length_s,
            share=self._share(beats, usual_s),
            before_share=before_share,
        )

    def _last_of(self, length_s: float) -> tuple[list[_Beat], list[list[_Beat]]]:
        """The beats of the last stretch, and of both of its halves; no halves where it is not full yet."""
        beats: list[_Beat] = []
        halves: list[list[_Beat]] = [[], []]
        known_s = 0.0
        for beat in reversed(self._beats):
            if known_s >= length_s:
                break
            beats.insert(0, beat)
            halves[known_s < length_s / 2].insert(0, beat)
            known_s += beat.length_s
        return beats, halves if known_s >= length_s else []

    def _share(self, beats: Sequence[_Beat], usual_s: float) -> float:
        total_s = sum(beat.length_s for beat in beats)
        return sum(each.length_s for each in self._pauses(beats, usual_s)) / total_s if total_s > 0 else 0.0

    def _pauses(self, beats: Sequence[_Beat], usual_s: float) -> list[Pause]:
        """Slow steps; of those that follow each other, as in a validation that logs, one."""
        found: list[Pause] = []
        was_slow = False
        for beat in beats:
            pause_s = beat.pause_s(usual_s, self._limits.uneven_times)
            if pause_s and was_slow:
                found[-1].length_s += pause_s
            elif pause_s:
                found.append(Pause(beat.at_s - pause_s, beat.step, pause_s))
            was_slow = pause_s > 0
        return found


def _usual(beats: Sequence[_Beat]) -> float:
    ordered = sorted(beat.length_s / beat.count for beat in beats)
    return ordered[len(ordered) // 2]
