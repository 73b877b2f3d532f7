"""Whether pauses come as phases of a training do: at regular distances, in steps or in time.

Validation and checkpoints may have distances of their own. So pauses that come one by one are asked for one period in
all, and those of about the same length for any number of them, each of which must then be seen nearly every time.
"""

import bisect
from collections.abc import Sequence

import msgspec

TOLERANCE = 0.1
"""Of a period, by which what is regular may come too early or too late."""
PERIODS = (0.5, 2.5)
"""Those that are tried, in mean distances: two kinds of pauses may take turns."""
REGULAR_SHARE = 0.75
"""Of the times at which it is expected, that it must come; and of all pauses, that must come so."""
ALIKE = 4 / 3
"""Pauses of the same kind differ by less than this."""
LEAST_TIMES = 4
"""Of one kind: fewer lie at the same distances by chance."""
MOST_PAUSES = 40
"""The latest are looked at: each is compared with each."""


class Pause(msgspec.Struct):
    """One step, or several in a row, that took long."""

    began_s: float
    step: int
    length_s: float


def are_regular(pauses: Sequence[Pause], steps_per_look: float) -> bool:
    """Of pauses in order of time, each of which may be another step that was seen at the same look."""
    pauses = pauses[-MOST_PAUSES:]
    if len(pauses) < LEAST_TIMES:
        return True
    places = [each.step for each in pauses], [each.began_s for each in pauses]
    return any(_have_a_period(each) for each in places) or _are_of_some_kinds(pauses, int(steps_per_look))


def _have_a_period(places: Sequence[float]) -> bool:
    """Whether what happens at these places happens again one period later, whatever the period is."""
    mean = (places[-1] - places[0]) / (len(places) - 1)
    least, most = (times * mean for times in PERIODS)
    periods = {later - place for at, place in enumerate(places) for later in places[at + 1 : at + 5]}
    return any(_recurs(places, period) for period in periods if least <= period <= most)


def _recurs(places: Sequence[float], period: float) -> bool:
    asked = found = 0
    for place in places:
        if place + period > places[-1]:  # too late for another one
            break
        asked += 1
        at = bisect.bisect_left(places, place + (1 - TOLERANCE) * period)
        found += at < len(places) and places[at] <= place + (1 + TOLERANCE) * period
    return asked >= len(places) / 2 and found >= REGULAR_SHARE * asked


def _are_of_some_kinds(pauses: Sequence[Pause], slack: int) -> bool:
    """Whether each is one of several that are alike and come every so many steps, through all of the time."""
    explained: set[int] = set()
    for number, one in enumerate(pauses):
        for other in pauses[number + 1 :]:
            period = other.step - one.step
            if period <= 2 * slack + 1:
                continue
            first = one.step - (one.step - pauses[0].step) // period * period
            expected = range(first, pauses[-1].step + 1, period)
            if len(expected) < LEAST_TIMES:
                break  # those after it are farther away
            kind = [at for step in expected if (at := _like(one, pauses, step=step, slack=slack)) is not None]
            if len(kind) >= REGULAR_SHARE * len(expected):
                explained.update(kind)
    return len(explained) >= REGULAR_SHARE * len(pauses)


def _like(one: Pause, pauses: Sequence[Pause], *, step: int, slack: int) -> int | None:
    """The number of the pause at this step that is about as long as another one."""
    at = bisect.bisect_left(pauses, step - slack, key=lambda each: each.step)
    while at < len(pauses) and pauses[at].step <= step + slack:
        if one.length_s < ALIKE * pauses[at].length_s and pauses[at].length_s < ALIKE * one.length_s:
            return at
        at += 1
    return None
