"""Runs go when their project keeps them no longer, and no others do."""

import os
from pathlib import Path

import pytest

from holter.errors import UsageError
from holter.server.desk import Desk, DeskSettings
from holter.server.retention import BY, DAY_S, Retention, overdue
from holter.server.security.rights import Keep
from holter.storage.runs import RunRow


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    made = Desk(DeskSettings(data=str(tmp_path / "data"), kind="server"), os.environ)
    now_ns = made.clock.now_ns()

    def ended(run: str, days: float, **more: object) -> RunRow:
        at_ns = now_ns - int(days * DAY_S * 1e9)
        fields = {"project": "vision", "state": "finished", "started_ns": at_ns, "ended_ns": at_ns, **more}
        return RunRow(id=run, **fields)  # type: ignore[arg-type]

    made.storage.runs.put(
        [
            ended("old", 100),
            ended("tagged", 100, tags=("best",)),
            ended("crashed", 91, state="crashed"),
            ended("young", 89),
            ended("other", 100, project="text"),
            ended("alive", 100, state="running", ended_ns=None, heard_ns=now_ns),
            ended("silent", 0.5, state="running", ended_ns=None, heard_ns=now_ns - int(DAY_S * 1e9)),
        ]
    )
    return made


def test_without_a_decision_everything_is_kept(desk: Desk) -> None:
    assert list(overdue(desk)) == []


def test_a_project_keeps_its_runs_for_so_many_days_after_their_end(desk: Desk) -> None:
    desk.doorman.people.change_project("vision", keep=Keep(days=90))
    assert list(overdue(desk)) == ["old", "tagged", "crashed"]
    desk.doorman.people.change_project("vision", keep=Keep(days=90, is_tagged_kept=True))
    assert list(overdue(desk)) == ["old", "crashed"]
    desk.doorman.people.change_project("vision", keep=Keep(days=0))
    assert list(overdue(desk)) == []
    assert desk.doorman.people.roll.projects == {}


def test_whatever_else_is_decided_about_a_project_leaves_it_as_it_is(desk: Desk) -> None:
    desk.doorman.people.change_project("vision", keep=Keep(days=90))
    desk.doorman.people.change_project("vision", kind="private", members={"ann": "writer"})
    assert desk.doorman.people.roll.project("vision").keep == Keep(days=90)


@pytest.mark.parametrize("days", [-1, float("nan"), float("inf"), 1e6])
def test_days_that_are_none_are_refused(desk: Desk, days: float) -> None:
    with pytest.raises(UsageError, match="days"):
        desk.doorman.people.change_project("vision", keep=Keep(days=days))


def test_a_run_that_went_says_why(desk: Desk) -> None:
    desk.doorman.people.change_project("vision", keep=Keep(days=90))
    desk.open()
    try:
        Retention(desk).sweep()
        deleted = desk.deletions.find("old")
        assert deleted is not None
        assert deleted.by == "retention"
        assert desk.storage.runs.get("old") is None
        assert desk.storage.runs.get("young") is not None
        acts = [(act.user, act.act, act.what["run"]) for act in desk.audit.acts()]
        assert acts == [(BY, "run-deleted", run) for run in ("old", "tagged", "crashed")]
    finally:
        desk.close()
