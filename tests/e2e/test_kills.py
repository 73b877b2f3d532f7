"""Kills recorded programs at random moments; `make bench` does the same a thousand times."""

from pathlib import Path

import pytest

from benchmarks.kill_target import row_of
from benchmarks.kills import Aim, compare, strike_all
from holter.journal.decoding import LoggedRow

KILLS = 4


@pytest.mark.parametrize("aim", Aim)
def test_no_acknowledged_row_is_lost_and_none_invented_whoever_is_killed(aim: Aim, tmp_path: Path) -> None:
    struck = strike_all({aim: KILLS}, tmp_path, lanes=KILLS)
    assert [(each.lost, each.invented) for each in struck] == [(0, 0)] * KILLS
    assert {each.state for each in struck} == {"crashed"}
    assert all(each.sidecar_left for each in struck)


def rows(*steps: int) -> list[LoggedRow]:
    return [LoggedRow(step, 0, dict(row_of(step))) for step in steps]


@pytest.mark.parametrize(
    ("found", "acknowledged", "verdict"),
    [
        (rows(0, 1, 2), 3, (0, 0)),
        (rows(0, 1, 2), 2, (0, 0)),
        (rows(0, 1, 2), 1, (0, 1)),
        (rows(0, 2), 3, (1, 0)),
        (rows(0, 1, 1), 2, (0, 1)),
        ([LoggedRow(0, 0, {"loss": 2.0, "seen": 0})], 1, (0, 1)),
        ([], 0, (0, 0)),
    ],
    ids=["all there", "one in flight", "two in flight", "one lost", "one twice", "one changed", "nothing logged"],
)
def test_the_comparison_finds_what_is_lost_or_invented(
    found: list[LoggedRow], acknowledged: int, verdict: tuple[int, int]
) -> None:
    assert compare(found, acknowledged) == verdict
