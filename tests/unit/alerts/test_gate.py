"""Which messages a target gets."""

import pytest

from holter.alerts.gate import Gate
from holter.alerts.message import ALERT, DEATH, FINISH, WARNING, Message
from holter.alerts.target import Target


def said(title: str = "loss", kind: str = ALERT, run: str = "a", project: str = "mnist") -> Message:
    return Message(kind=kind, run=run, project=project, title=title)


def test_what_says_the_same_is_told_once_a_minute() -> None:
    gate = Gate(Target(kind="json"))
    assert [gate.admits(said(), now_s) for now_s in (0, 1, 59, 61)] == [True, False, False, True]
    assert gate.admits(said(run="b"), 61)
    assert gate.admits(said("another"), 61)


def test_an_hour_has_only_so_many_and_the_rest_are_counted() -> None:
    gate = Gate(Target(kind="json", at_most_per_hour=3))
    assert [gate.admits(said(str(number)), number) for number in range(5)] == [True, True, True, False, False]
    assert gate.left_out == 2
    assert gate.admits(said("later"), 3601)


def test_how_a_run_ended_is_never_too_much() -> None:
    gate = Gate(Target(kind="json", at_most_per_hour=1))
    assert gate.admits(said(), 0)
    assert gate.admits(said("crashed", DEATH), 1)
    assert gate.admits(said("finished", FINISH), 1)


@pytest.mark.parametrize(
    ("target", "wanted"),
    [
        (Target(kind="json"), True),
        (Target(kind="json", on=(DEATH,)), False),
        (Target(kind="json", on=(WARNING, ALERT), projects=("mnist",)), True),
        (Target(kind="json", projects=("other",)), False),
    ],
)
def test_a_target_gets_what_it_wants(target: Target, wanted: bool) -> None:
    assert Gate(target).admits(said(), 0) is wanted
