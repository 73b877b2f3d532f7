"""What people say about the end of a run."""

from pathlib import Path

import pytest

from holter.catalog.catalog import Catalog
from holter.catalog.change.command_journal import as_command, write_down
from holter.catalog.change.marking import mark
from holter.catalog.read.run_view import LoadedRun
from holter.errors import UsageError
from holter.model.records import Edited, Finished
from tests.unit.catalog.journals import BEGAN_NS, Journal, alive, dead, named


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    place = tmp_path / "runs" / "r1"
    place.mkdir(parents=True)
    return place


def load(directory: Path) -> LoadedRun:
    return Catalog(str(directory.parents[1])).load(directory.name, patience_s=0.0)


def failed(directory: Path, attempt: int = 1) -> None:
    end = Finished(at_ns=BEGAN_NS + attempt, exit_code=3)
    Journal(directory, dead(), attempt=attempt).say(named("otter"), end).close()


def test_a_mark_changes_the_state_and_keeps_the_verdict(directory: Path) -> None:
    failed(directory)
    mark(load(directory), "crashed", reason="the node broke", by="ada")
    loaded = load(directory)
    assert (loaded.view.state, loaded.by_itself.state, loaded.view.cause) == ("crashed", "failed", "nonzero-exit")
    assert loaded.outcome.because.startswith("ada marked it crashed: the node broke (holter's own verdict: failed")


def test_a_mark_can_be_taken_back(directory: Path) -> None:
    failed(directory)
    mark(load(directory), "finished", reason="good enough", by="ada")
    mark(load(directory), "", reason="taken back", by="ada")
    assert load(directory).view.state == "failed"


def test_a_mark_does_not_count_for_a_later_attempt(directory: Path) -> None:
    failed(directory)
    mark(load(directory), "crashed", reason="the node broke", by="ada")
    failed(directory, attempt=2)
    assert load(directory).view.state == "failed"


def test_only_the_dead_are_marked_with_a_state_of_the_dead_and_a_reason(directory: Path) -> None:
    living = Journal(directory, alive()).say(named("otter"))
    with pytest.raises(UsageError, match="is running"):
        mark(load(directory), "failed", reason="x", by="ada")
    living.say(Finished(at_ns=BEGAN_NS)).close()
    for state, reason in (("running", "x"), ("dead", "x"), ("failed", " ")):
        with pytest.raises(UsageError):
            mark(load(directory), state, reason=reason, by="ada")


def test_people_have_the_last_word_on_names(directory: Path) -> None:
    failed(directory)
    edits = [
        Edited(at_ns=BEGAN_NS, by="ada", name="first", tags=("a",)),
        Edited(at_ns=BEGAN_NS + 1, by="ada", name="second", notes="n"),
    ]
    assert write_down(str(directory), edits, opened=as_command("r1", 1))
    view = load(directory).view
    assert (view.name, view.tags, view.notes) == ("second", ("a",), "n")
