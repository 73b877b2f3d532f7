"""The guards on recorded runs: who ran out of memory was warned in time, and nobody else was warned.

`record.py` made them. Those of even seeds were looked at while thresholds were chosen, those of odd ones were not.
"""

import pytest

from tests.guards.playing import Said, load, names, play

KILLED = [name for name in names() if load(name).was_killed]
HEALTHY = [name for name in names() if not load(name).was_killed]


def first_forecast(name: str) -> Said:
    return next(each for each in play(load(name)) if each.guard == "memory-forecast")


@pytest.mark.parametrize("name", KILLED)
def test_who_runs_out_of_memory_is_warned_half_a_minute_before_with_the_right_time(name: str) -> None:
    said, end_s = first_forecast(name), load(name).length_s
    assert end_s - said.at_s >= 30
    assert said.warned.eta_s is not None
    assert 0.5 <= said.warned.eta_s / (end_s - said.at_s) <= 2


@pytest.mark.parametrize("name", HEALTHY)
def test_who_is_well_hears_nothing(name: str) -> None:
    assert [(each.guard, each.at_s, each.warned.text) for each in play(load(name))] == []


def test_there_are_traces_of_both_kinds() -> None:
    assert len(KILLED) >= 8
    assert len(HEALTHY) >= 16
