"""Steps that become uneven on invented runs, and on what recorded ones did; and of what nothing is said."""

import itertools
import math
import random
from collections.abc import Callable, Iterator

import pytest

from holter.guards.checks.slower_steps import open_check
from holter.guards.limits import Limits
from holter.guards.progress import Progress
from holter.guards.seen import Caution, Seen
from tests.guards.playing import load, names

LATER_S, LATER = 1500.0, 5000
MINUTES = 70
Steps = Callable[[random.Random], Iterator[float]]
"""The seconds that each step takes."""


def watch(
    steps: Iterator[float], *, minutes: int = MINUTES, row: Callable[[float], dict[str, float]] = lambda at: {}
) -> list[tuple[int, Caution]]:
    """What is said of a run, looked at once a second."""
    check, progress, said = open_check(Limits()), Progress(), []
    at_s, step = next(steps), 0
    for look in range(60 * minutes):
        rows, last_s = 0, 0.0
        while at_s <= look:
            rows, last_s, step = rows + 1, at_s, step + 1
            at_s += next(steps, math.inf)
        progress.advance(last_s, rows=rows, step=step)
        seen = Seen(now_s=float(look), now_ns=look, row=row(look), progress=progress)
        said += [(look, each) for each in check.look(seen) if each.subject == "uneven"]
    return said


def noisy(usual_s: float, share: float, least_s: float, most_s: float, *, since_s: float = LATER_S) -> Steps:
    """From a moment on some steps, at random, wait for what somebody else does."""

    def steps(draw: random.Random) -> Iterator[float]:
        at_s = 0.0
        while True:
            pause_s = draw.uniform(least_s, most_s) if at_s > since_s and draw.random() < share else 0.0
            length_s = usual_s * draw.uniform(0.9, 1.1) + pause_s
            at_s += length_s
            yield length_s

    return steps


def phases(usual_s: float, *kinds: tuple[int, float], after: int = 0) -> Steps:
    """Every so many steps a phase of so many seconds."""

    def steps(draw: random.Random) -> Iterator[float]:
        for step in itertools.count(1):
            found = [length_s for every, length_s in kinds if step > after and step % every == 0]
            yield usual_s + sum(length_s * draw.uniform(0.93, 1.07) for length_s in found)

    return steps


def neighbour_in_bursts(draw: random.Random) -> Iterator[float]:
    """Somebody who comes for some seconds, again and again: all steps meanwhile take many times longer."""
    at_s, begins_s, ends_s = 0.0, 0.0, 0.0
    while True:
        if at_s > ends_s:
            begins_s = max(at_s, LATER_S) + draw.expovariate(1 / 20)
            ends_s = begins_s + draw.uniform(5, 25)
        length_s = 0.3 * draw.uniform(6, 20) if begins_s <= at_s else 0.3
        at_s += length_s
        yield length_s


UNEVEN: dict[str, Steps] = {
    "a noisy neighbour": noisy(0.3, 0.04, 2, 10),
    "a neighbour in bursts": neighbour_in_bursts,
    "a failing disk": noisy(1.0, 0.05, 10, 40),
    "a disk that waits for its timeout": noisy(1.0, 0.04, 30, 30),
    "long steps": noisy(5.0, 0.1, 25, 120),
    "quick steps": noisy(0.05, 0.015, 1, 5),
}


@pytest.mark.parametrize("name", UNEVEN)
@pytest.mark.parametrize("seed", [1, 2])
def test_some_steps_that_take_many_times_longer_than_before_are_told(name: str, seed: int) -> None:
    said = watch(UNEVEN[name](random.Random(seed)))
    assert LATER_S + 300 < said[0][0] < LATER_S + 2100
    assert said[0][1].text.startswith("steps have become uneven: ")


def validation_that_logs(draw: random.Random) -> Iterator[float]:
    for step in itertools.count():
        yield 0.1 if step < LATER or step % 150 < 120 else draw.uniform(0.9, 1.6)


def checkpoints_by_the_clock(draw: random.Random) -> Iterator[float]:
    at_s, next_s = 0.0, LATER_S
    while True:
        length_s = 0.3
        if at_s > next_s:
            length_s = draw.uniform(15, 25)
            next_s = at_s + length_s + 30
        at_s += length_s
        yield length_s


def best_ones_kept(draw: random.Random) -> Iterator[float]:
    """A checkpoint after those validations that were better."""
    for step in itertools.count():
        yield 0.3 + (10 if step > LATER and step % 60 == 0 else 0)
        if step > LATER and step % 60 == 0 and draw.random() < 0.4:
            yield 6.0


def epochs_of_other_lengths(draw: random.Random) -> Iterator[float]:
    for epoch in itertools.count():
        yield from [0.3] * draw.randint(50, 70)
        yield 20.0 if epoch > 80 else 0.3


def growing(draw: random.Random) -> Iterator[float]:
    for step in itertools.count():
        yield 0.3 * (1 + step / 3000)


def at_random(draw: random.Random) -> Iterator[float]:
    """Episodes of a game, sentences: no two steps are alike, from the beginning on."""
    while True:
        yield draw.lognormvariate(-1, 1.2)


HEALTHY: dict[str, Steps] = {
    "validation": phases(0.3, (200, 30)),
    "validation that begins later": phases(0.3, (60, 14), after=LATER),
    "validation and checkpoints": phases(0.3, (100, 12), (130, 6)),
    "both begin later": phases(1.0, (17, 9), (29, 6), after=1500),
    "both begin later, quick steps": phases(0.3, (37, 8), (53, 5), after=LATER),
    "every eighth batch waits": phases(0.3, (8, 3), after=LATER),
    "long steps with validation": phases(30.0, (10, 300)),
    "validation that logs": validation_that_logs,
    "checkpoints by the clock": checkpoints_by_the_clock,
    "the best ones kept": best_ones_kept,
    "epochs of other lengths": epochs_of_other_lengths,
    "all steps slower": growing,
    "at random": at_random,
    "pauses at random, from the beginning on": noisy(0.3, 0.04, 2, 10, since_s=0.0),
    "a pause now and then": noisy(0.3, 0.02, 1.5, 4),
}


@pytest.mark.parametrize("name", HEALTHY)
@pytest.mark.parametrize("seed", [1, 2])
def test_phases_of_a_training_are_not_uneven(name: str, seed: int) -> None:
    assert [(at, each.text) for at, each in watch(HEALTHY[name](random.Random(seed)))] == []


def test_what_changed_meanwhile_is_told_with_the_shares() -> None:
    def row(at: float) -> dict[str, float]:
        return {"system/psi/io_some_avg10": 1.0 if at < LATER_S else 60.0, "system/psi/cpu_some_avg10": 2.0}

    _, said = watch(UNEVEN["a failing disk"](random.Random(1)), row=row)[0]
    assert " took 5 times the usual 1.0 s or longer, " in said.text
    assert said.text.endswith(" % of the last 10 min, 0 % at first (waiting for disks: 60 % of the time, 1 before)")
    assert said.figures["share"] > 1 / 3
    assert "`dmesg`" in said.advice[1]


def test_it_is_over_when_it_is_over() -> None:
    def steps(draw: random.Random) -> Iterator[float]:
        yield from itertools.islice(UNEVEN["a failing disk"](draw), 2500)
        while True:
            yield 1.0

    said = watch(steps(random.Random(1)), minutes=100)
    assert said
    assert said[-1][0] < 100 * 60 - 600


@pytest.mark.parametrize("name", [name for name in names() if not load(name).was_killed])
def test_recorded_runs_after_an_even_beginning_are_not_uneven(name: str) -> None:
    """They are shorter than what is compared: so each is played three times in a row, behind even steps."""
    rows_s = load(name).rows_s
    lengths_s = [later - one for one, later in itertools.pairwise(rows_s)]
    usual_s = sorted(lengths_s)[len(lengths_s) // 2]
    steps = itertools.chain(itertools.repeat(usual_s, int(900 / usual_s)), *[lengths_s] * 3)
    assert watch(steps, minutes=55) == []


def test_pauses_between_the_cells_of_a_notebook_are_a_persons() -> None:
    draw, check, progress = random.Random(1), open_check(Limits()), Progress()
    at_s, step, said = 0, 0, []
    for cell in range(300):
        progress.cell = cell
        progress.rest(float(at_s), is_over=True)
        for _ in range(600 if cell == 0 else 12):
            at_s, step = at_s + 1, step + 1
            progress.advance(float(at_s), rows=1, step=step)
            seen = Seen(now_s=float(at_s), now_ns=at_s, row={}, progress=progress)
            said += list(check.look(seen))
        progress.rest(float(at_s), is_over=False)
        for _ in range(draw.randint(2, 40)):
            at_s += 1
            said += list(check.look(Seen(now_s=float(at_s), now_ns=at_s, row={}, progress=progress)))
    assert [each.text for each in said if each.subject == "uneven"] == []
