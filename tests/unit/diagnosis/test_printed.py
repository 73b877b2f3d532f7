"""The last words of a program in which nothing of ours ran."""

from holter.diagnosis.printed import with_printed_exception
from holter.diagnosis.specimens import evidence, exited, raised, said
from holter.model.evidence import End, Said

TRACEBACK = """\
Traceback (most recent call last):
  File "/home/ada/train.py", line 9, in <module>
    main()
    ~~~~^^
  File "/home/ada/train.py", line 5, in main
    return torch.load(path)
  File "/venv/lib/python3.11/site-packages/torch/serialization.py", line 100, in load
    raise RuntimeError(text)
RuntimeError: no such file
and a second line of the message
"""


def lines(text: str, *, before_s: float = 1.0) -> tuple[Said, ...]:
    return tuple(said(line, before_s=before_s) for line in text.splitlines())


def test_a_traceback_as_the_last_words_of_a_command_is_its_exception() -> None:
    subject = exited(1, role="command")

    found = with_printed_exception(evidence(subject, said=lines(TRACEBACK))).subject.raised

    assert found is not None
    assert (found.type, found.where) == ("RuntimeError", "printed")
    assert found.message == "no such file\nand a second line of the message"
    assert [(frame.file, frame.line, frame.function) for frame in found.frames] == [
        ("/home/ada/train.py", 9, "<module>"),
        ("/home/ada/train.py", 5, "main"),
    ]


def unchanged(subject: End, text: str, *, before_s: float = 1.0) -> bool:
    before = evidence(subject, said=lines(text, before_s=before_s))
    return with_printed_exception(before) == before


def test_a_program_with_a_client_would_have_recorded_it_so_it_was_caught() -> None:
    assert unchanged(exited(1), TRACEBACK)


def test_an_exit_code_that_python_does_not_use_is_not_the_tracebacks() -> None:
    assert unchanged(exited(3, role="command"), TRACEBACK)


def test_a_traceback_of_an_hour_ago_is_no_cause() -> None:
    assert unchanged(exited(1, role="command"), TRACEBACK, before_s=3600)


def test_a_program_that_went_on_printing_had_caught_it() -> None:
    more = "".join(f"epoch {number}: loss 0.1\n" for number in range(20))
    assert unchanged(exited(1, role="command"), TRACEBACK + more)


def test_a_recorded_exception_counts_more_than_a_printed_one() -> None:
    assert unchanged(exited(1, role="command", raised=raised("ValueError", "recorded")), TRACEBACK)


def test_what_looks_like_a_traceback_and_has_no_end_is_none() -> None:
    assert unchanged(exited(1, role="command"), "Traceback (most recent call last):\n  File")
