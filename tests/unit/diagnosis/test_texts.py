"""Whose words are in an exception, and when a line is too old to count."""

import re

import pytest

from holter.diagnosis import texts
from holter.diagnosis.specimens import evidence, failed, raised, said, signalled
from holter.model.records import Cause, OwnFrame

DECOY = re.compile("CUDA out of memory")


@pytest.mark.parametrize("statement", ["raise RuntimeError('x')", "raise", "assert x, 'y'"])
def test_a_raise_of_the_users_own_code_is_their_own_words(statement: str) -> None:
    assert texts.is_own_raise(raised("RuntimeError", "CUDA out of memory", statement=statement))


@pytest.mark.parametrize("statement", ["model(batch)", "raised = compute()", "assertion(x)"])
def test_a_call_into_a_library_is_not(statement: str) -> None:
    assert not texts.is_own_raise(raised("RuntimeError", "CUDA out of memory", statement=statement))


def test_a_raise_within_a_library_is_the_librarys() -> None:
    error = raised("RuntimeError", "CUDA out of memory", statement="raise RuntimeError(text)")
    inside = OwnFrame(file="/home/ada/train.py", line=12, function="main")
    assert not texts.is_own_raise(raised("RuntimeError", "x", traceback=error.traceback, frames=(inside,)))


def test_without_a_traceback_nobody_can_tell() -> None:
    assert not texts.is_own_raise(raised("RuntimeError", "x", traceback=""))


def test_an_own_exception_raised_from_a_librarys_keeps_the_librarys_words() -> None:
    cause = Cause(type="torch.OutOfMemoryError", message="CUDA out of memory")
    error = raised("TrainingFailed", "my words", statement="raise TrainingFailed from error", causes=(cause,))
    assert texts.foreign_text(error) == "torch.OutOfMemoryError: CUDA out of memory"


def test_the_users_own_words_do_not_speak_for_a_rule() -> None:
    own = failed("RuntimeError", "CUDA out of memory", statement="raise RuntimeError('CUDA out of memory')")
    assert texts.in_exception(evidence(own), DECOY) is None
    assert texts.in_exception(evidence(failed("RuntimeError", "CUDA out of memory")), DECOY)


def test_only_lines_near_the_end_count() -> None:
    old, new = said("CUDA out of memory", before_s=3600), said("CUDA out of memory, again", before_s=2)
    assert texts.line_near_end(evidence(signalled(9), said=(old,)), DECOY) is None
    assert texts.line_near_end(evidence(signalled(9), said=(old, new)), DECOY) == new


def test_a_line_that_was_kept_just_after_the_death_counts() -> None:
    late = said("CUDA out of memory", before_s=-2)
    assert texts.line_near_end(evidence(signalled(9), said=(late,)), DECOY) == late


def test_an_exception_behind_it_that_the_users_own_code_raised_is_their_own_words_too() -> None:
    behind = Cause(type="RuntimeError", message="CUDA out of memory", how="context")
    first = raised("RuntimeError", "CUDA out of memory", statement="raise RuntimeError(text)").traceback
    link = "\nDuring handling of the above exception, another exception occurred:\n\n"
    second = raised("AttributeError", "close", statement="writer.close()")
    chained = raised("AttributeError", "close", traceback=f"{first}{link}{second.traceback}", causes=(behind,))
    assert texts.foreign_text(chained) == "AttributeError: close"
    by_library = chained.traceback.replace("/home/ada/train.py", "/venv/site-packages/torch/cuda.py", 1)
    told = raised("AttributeError", "close", traceback=by_library, causes=(behind,))
    assert texts.foreign_causes(told) == (behind,)


def test_what_stands_between_print_and_the_terminal_is_not_the_statement_that_failed() -> None:
    ours = (
        '  File "/venv/site-packages/holter/client/capture/printing.py", line 170, in write\n    count = real(text)\n'
    )
    head, _, last = raised("OSError", "x", statement="print(loss)").traceback.rpartition("OSError")
    assert texts.source_line(raised("OSError", "x", traceback=f"{head}{ours}OSError{last}")) == "print(loss)"
