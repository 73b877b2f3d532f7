"""What people say about the end of a run."""

from pathlib import Path

import pytest

from holter.catalog.catalog import Catalog
from holter.catalog.change.command_journal import as_command, write_down
from holter.catalog.change.marking import mark, mark_cause, unmark
from holter.catalog.read.loaded_run import LoadedRun
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
    assert (loaded.row.state, loaded.by_itself.state, loaded.row.cause) == ("crashed", "failed", "nonzero-exit")
    assert loaded.outcome.because.startswith("ada marked it crashed: the node broke (holter's own verdict: failed")


def test_a_mark_can_be_taken_back(directory: Path) -> None:
    failed(directory)
    mark(load(directory), "finished", reason="good enough", by="ada")
    unmark(load(directory), by="ada")
    assert load(directory).row.state == "failed"


def test_a_mark_does_not_count_for_a_later_attempt(directory: Path) -> None:
    failed(directory)
    mark(load(directory), "crashed", reason="the node broke", by="ada")
    failed(directory, attempt=2)
    assert load(directory).row.state == "failed"


def test_only_the_dead_are_marked_with_a_state_of_the_dead_and_a_reason(directory: Path) -> None:
    living = Journal(directory, alive()).say(named("otter"))
    with pytest.raises(UsageError, match="is running"):
        mark(load(directory), "failed", reason="x", by="ada")
    living.say(Finished(at_ns=BEGAN_NS)).close()
    for state, reason in (("running", "x"), ("dead", "x"), ("failed", " ")):
        with pytest.raises(UsageError):
            mark(load(directory), state, reason=reason, by="ada")


def test_what_people_say_of_the_cause_stands_beside_the_verdict(directory: Path) -> None:
    failed(directory)
    mark_cause(load(directory), "GPU_out_of_memory", reason=" nvidia-smi showed 79/80 GB ", by="ada")
    row = load(directory).row
    assert (row.state, row.cause) == ("failed", "nonzero-exit")
    assert row.cause_mark is not None
    assert row.cause_mark.words == "ada says that it was gpu-out-of-memory: nvidia-smi showed 79/80 GB"
    assert row.cause_mark.verdict == "nonzero-exit"


@pytest.mark.parametrize(
    ("cause", "words"),
    [("none", "ada says that it ended normally: x"), ("other", "ada says that it was something else: x")],
)
def test_a_cause_may_be_one_that_no_rule_knows(directory: Path, cause: str, words: str) -> None:
    failed(directory)
    mark_cause(load(directory), cause, reason="x", by="ada")
    row = load(directory).row
    assert row.cause_mark is not None
    assert row.cause_mark.words == words


@pytest.mark.parametrize(
    ("cause", "complaint"),
    [
        (
            "gpu-out-of-memroy",
            "knows no cause 'gpu-out-of-memroy' .did you mean 'gpu-out-of-memory'.*`holter rules`.*other",
        ),
        ("gremlins", "knows no cause 'gremlins'; `holter rules` lists"),
        ("memory-leak", "never the cause alone"),
        ("nonzero-exit", "says of run r1 itself that it was nonzero-exit"),
    ],
)
def test_a_cause_that_does_not_fit_is_refused_with_what_would(directory: Path, cause: str, complaint: str) -> None:
    failed(directory)
    with pytest.raises(UsageError, match=complaint):
        mark_cause(load(directory), cause, reason="x", by="ada")
    assert load(directory).row.cause_mark is None


def test_a_word_on_the_state_and_one_on_the_cause_are_taken_back_apart_or_together(directory: Path) -> None:
    failed(directory)
    mark(load(directory), "crashed", reason="the node broke", by="ada")
    mark_cause(load(directory), "host-lost", reason="so it was the node", by="bob")
    unmark(load(directory), by="bob", what=["cause"])
    row = load(directory).row
    assert (row.state, row.cause_mark) == ("crashed", None)
    mark_cause(load(directory), "host-lost", reason="it was, though", by="bob")
    unmark(load(directory), by="ada")
    row = load(directory).row
    assert (row.state, row.cause_mark) == ("failed", None)


def test_a_word_on_the_cause_does_not_count_for_a_later_attempt(directory: Path) -> None:
    failed(directory)
    mark_cause(load(directory), "host-lost", reason="the node broke", by="ada")
    failed(directory, attempt=2)
    assert load(directory).row.cause_mark is None


def test_people_have_the_last_word_on_names(directory: Path) -> None:
    failed(directory)
    edits = [
        Edited(at_ns=BEGAN_NS, by="ada", name="first", tags=("a",)),
        Edited(at_ns=BEGAN_NS + 1, by="ada", name="second", notes="n", colour=5),
    ]
    assert write_down(str(directory), edits, opened=as_command("r1", 1))
    row = load(directory).row
    assert (row.name, row.tags, row.notes, row.colour) == ("second", ("a",), "n", 5)
