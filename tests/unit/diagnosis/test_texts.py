"""Whose words are in an exception, and when a line is too old to count."""

import pytest

from holter.diagnosis import texts
from holter.model.evidence import Said
from holter.model.records import Cause, OwnFrame
from tests.causes.specimens import evidence, failed, raised, said, signalled

DECOY = "gpu-memory-refused"


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


TERMINATES = "gives-up"
WORDS = "terminate called after throwing an instance of 'c10::Error'"


@pytest.mark.parametrize(
    "after",
    [
        (),
        (said("  what():  device-side assert", before_s=1.0),),
        (said("frame #0: c10::Error::Error() + 0x57 (0x7f0)", before_s=1.0),) * 9,
        (said("Aborted (core dumped)", before_s=0.95),),
    ],
    ids=["nothing", "its own second line", "a stack", "what a shell says of it"],
)
def test_words_with_which_the_output_ends_are_the_last(after: tuple[Said, ...]) -> None:
    lines = (said("epoch 1: loss 0.4"), said(WORDS), *after)
    found = texts.last_words(evidence(signalled(6), said=lines), TERMINATES)
    assert found is not None


@pytest.mark.parametrize(
    "after",
    [
        (said("saved", before_s=0.5),),
        (said("saved", before_s=0.5, is_error=False),),
        (said("epoch 2: loss 0.3"),),
        (said("loss 0.3"), said("loss 0.2"), said("loss 0.1")),
    ],
    ids=["something later", "on the other stream", "a line like one before", "a line again and again"],
)
def test_words_after_which_the_program_went_on_are_not(after: tuple[Said, ...]) -> None:
    lines = (said("epoch 1: loss 0.4"), said(WORDS), *after)
    assert texts.last_words(evidence(signalled(6), said=lines), TERMINATES) is None


def test_of_a_worker_nobody_knows_who_went_on() -> None:
    lines = (said(WORDS), said("epoch 2: loss 0.3", before_s=0.2))
    assert texts.last_words(evidence(signalled(6, role="child"), said=lines), TERMINATES) == lines[0]
