"""Whose death came first, where only the last words of the program tell of it."""

import pytest

from holter.diagnosis.causality.children import find_lost_child
from holter.model.evidence import End, Evidence, Surroundings
from tests.causes.specimens import before, evidence, exited, failed, said

WAITED, ALONE = Surroundings(children_rss_bytes=2**20), Surroundings(children_rss_bytes=0)


def lost(seen: Evidence) -> int | None:
    child = find_lost_child(seen)
    return child.signal if child else None


@pytest.mark.parametrize(
    ("subject", "text", "number"),
    [
        (exited(1), "evaluation exited with 139", 11),
        (exited(1), "decoder left with -6", 6),
        (failed("RuntimeError", "worker returned -9"), "", 9),
        # Codes that a program chooses, numbers that are none, and a request that may be the program's own.
        (exited(1), "evaluation exited with 3", None),
        (exited(1), "139 samples, exit", None),
        (exited(1), "evaluation exited with 143", None),
        (exited(0), "evaluation exited with 139", None),
    ],
)
def test_a_child_that_nobody_saw_is_known_by_the_code_in_the_last_words(
    subject: End, text: str, number: int | None
) -> None:
    assert lost(evidence(subject, said=(said(text),), surroundings=WAITED, is_watched=False)) == number


@pytest.mark.parametrize("around", [ALONE, None])
def test_who_has_waited_for_no_child_only_says_so(around: Surroundings | None) -> None:
    seen = evidence(exited(1), said=(said("exit code 139"),), surroundings=around, is_watched=False)
    assert lost(seen) is None


def test_where_every_exit_was_heard_the_words_are_about_something_else() -> None:
    assert lost(evidence(exited(1), said=(said("exit code 139"),), surroundings=WAITED, is_watched=True)) is None


def test_words_about_a_child_that_left_by_itself_are_not_about_one_that_had_faulted_before() -> None:
    faulted = End(pid=30, role="child", source="connector", status=11, at_ns=before(3))
    left = End(pid=31, role="child", source="connector", status=2 << 8, at_ns=before(1))

    assert lost(evidence(failed("RuntimeError", "worker left with 2"), children=(faulted, left))) is None
    assert lost(evidence(failed("RuntimeError", "worker left"), children=(faulted, left))) == 11


def test_the_code_that_python_gives_for_a_signal_names_the_child_that_it_ended() -> None:
    ended = End(pid=30, role="child", source="connector", status=15, at_ns=before(2))
    said_so = failed(
        "RuntimeError", "no batch; loader alive: False, exit code -15", statement="raise RuntimeError(...)"
    )

    assert lost(evidence(said_so, children=(ended,))) == 15
    assert lost(evidence(failed("RuntimeError", "no batch for 15 s"), children=(ended,))) is None


def test_of_several_children_that_signals_ended_the_first_took_the_others_along() -> None:
    aborted = End(pid=30, role="child", source="connector", status=6, at_ns=before(3))
    killed = End(pid=31, role="child", source="connector", status=9, at_ns=before(2))

    assert lost(evidence(failed("RuntimeError", "exit codes: -6, -9"), children=(aborted, killed))) == 6
