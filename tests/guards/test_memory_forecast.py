"""Forecasts of memory on invented curves: what must be told, and what must not."""

import math
from collections.abc import Callable, Iterator

import pytest

from holter.guards.checks.memory_forecast import open_check
from holter.guards.limits import Limits
from holter.guards.patrol import Told, open_patrol
from holter.guards.progress import Progress
from holter.guards.seen import Caution, Seen
from holter.model.warning_records import Eased, Warned

GIB, MIB = 1 << 30, 1 << 20


def moments(used: Callable[[float], float], length_s: int, *, limit: float = GIB, rows: bool = True) -> Iterator[Seen]:
    progress = Progress()
    for at in range(length_s):
        if rows:
            progress.advance(float(at), rows=2, step=2 * at)
        row = {
            "system/cgroup/0/usage_bytes": used(at) + 50 * MIB,
            "system/cgroup/0/inactive_file_bytes": 50.0 * MIB,
            "system/cgroup/0/limit_bytes": limit,
        }
        yield Seen(now_s=float(at), now_ns=at * 10**9, row=row, progress=progress)


def told(used: Callable[[float], float], length_s: int, *, rows: bool = True) -> list[tuple[float, Caution]]:
    check = open_check(Limits())
    return [(seen.now_s, each) for seen in moments(used, length_s, rows=rows) for each in check.look(seen)]


@pytest.mark.parametrize("mib_per_s", [0.3, 1, 4, 10])
def test_a_leak_is_told_half_a_minute_ahead_with_the_right_time(mib_per_s: float) -> None:
    def leak(at: float) -> float:
        return min(GIB, (300 + mib_per_s * at) * MIB)

    full_s = (1024 - 300) / mib_per_s
    at, caution = told(leak, int(full_s))[0]
    assert full_s - at >= 30
    assert caution.eta_s is not None
    assert 0.5 < caution.eta_s / (full_s - at) < 2
    assert (caution.eta_least_s or 0) <= caution.eta_s <= (caution.eta_most_s or 0)
    assert caution.text.startswith("memory will reach its 1.0 GiB limit in about ")


def warm_up(at: float) -> float:
    return 900 * MIB * (1 - math.exp(-at / 40))


def plateau(at: float) -> float:
    return 975 * MIB + (at % 7) * MIB


def saw(at: float) -> float:
    """Its first tooth is higher than the others: nobody can tell the first climb from a leak."""
    return (300 + 3 * (at % 90)) * MIB if at > 90 else 600 * MIB


@pytest.mark.parametrize("healthy", [warm_up, plateau, saw])
def test_what_stops_by_itself_is_not_told(healthy: Callable[[float], float]) -> None:
    assert told(healthy, 1200) == []


def test_the_first_climb_is_not_told_as_long_as_half_of_the_memory_is_free() -> None:
    assert told(lambda at: min(500, 12 * at) * MIB, 60, rows=False) == []


def first_told(used: Callable[[float], float], *, limit: float, epoch_s: int) -> tuple[float, Caution]:
    check, epochs = open_check(Limits()), 0
    for seen in moments(used, 3000, limit=limit):
        if epoch_s and seen.now_s >= epochs * epoch_s:
            seen.progress.take({"epoch": epochs}, 0, seen.now_s)
            epochs += 1
        for each in check.look(seen):
            return seen.now_s, each
    raise AssertionError("nobody was warned")


def test_an_even_climb_is_told_late_in_the_first_epochs_and_long_before_the_end_in_later_ones() -> None:
    def leak(at: float) -> float:
        return (1024 + at) * MIB

    at, caution = first_told(leak, limit=2 * GIB, epoch_s=0)
    assert 100 <= 1024 - at <= 125
    assert caution.eta_s is not None
    assert 100 <= caution.eta_s <= 125
    at, _ = first_told(leak, limit=2 * GIB, epoch_s=150)
    assert 300 <= at < 650
    at, _ = first_told(leak, limit=3 * GIB, epoch_s=0)
    assert 1200 <= at < 1250


def test_files_that_are_read_again_and_again_are_no_growth() -> None:
    check, progress = open_check(Limits()), Progress()
    for at in range(400):
        progress.advance(float(at), rows=2, step=2 * at)
        row = {
            "system/cgroup/0/usage_bytes": (300 + 1.5 * at) * MIB,
            "system/cgroup/0/inactive_file_bytes": 50.0 * MIB,
            "system/cgroup/0/active_file_bytes": 1.5 * at * MIB,
            "system/cgroup/0/limit_bytes": float(GIB),
        }
        assert not [*check.look(Seen(now_s=float(at), now_ns=at * 10**9, row=row, progress=progress))]


def test_growth_that_has_ended_is_not_told_however_steep_it_was() -> None:
    """As a run that builds its model, then its optimizer: seen over three minutes it grew until just now."""

    def stages(at: float) -> float:
        return (28 + 4.4 * min(at, 25) + 4.4 * min(max(0, at - 100), 16)) * MIB

    assert told(stages, 400, rows=False) == []


def test_it_says_where_it_grows_and_since_which_step() -> None:
    _, caution = told(lambda at: (300 + 2 * max(0, at - 200)) * MIB, 500)[0]
    assert "(growing 1.0 MiB/step, since step 4" in caution.text


def test_one_warning_is_said_once_and_is_over_when_memory_stays() -> None:
    patrol = open_patrol()

    def stops(at: float) -> float:
        return (400 + 3 * min(at, 130)) * MIB

    found: list[Told] = [told for seen in moments(stops, 400) for told in patrol.look(seen)]
    said = [each.record for each in found if each.is_said]
    assert [type(each) for each in said] == [Warned]
    assert isinstance(found[-1].record, Eased)


class Broken:
    def look(self, seen: Seen) -> list[Caution]:
        raise ZeroDivisionError


def test_a_guard_that_fails_keeps_no_other_from_looking() -> None:
    from holter.guards.patrol import Patrol

    failed: list[str] = []
    limits = Limits()
    patrol = Patrol(
        {"broken": Broken(), "memory-forecast": open_check(limits)},
        limits,
        failed=lambda guard, error: failed.append(guard),
    )
    said = [each for seen in moments(lambda at: (300 + 4 * at) * MIB, 170) for each in patrol.look(seen)]
    assert failed == ["broken"]
    assert [each.is_said for each in said][:1] == [True]


def test_a_silenced_guard_says_nothing() -> None:
    patrol = open_patrol(["memory-forecast"])
    assert [each for seen in moments(lambda at: (300 + 4 * at) * MIB, 170) for each in patrol.look(seen)] == []
