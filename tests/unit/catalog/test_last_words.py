"""The last lines of a run, and the beginning of a traceback whose end they are."""

from pathlib import Path

from holter.catalog.read.last_words import MOST_LINES, MOST_TEXT, lines_of, read_last_words
from holter.console.files import STDERR, STDOUT
from holter.console.reading import Printed
from holter.console.transcript import TranscriptWriter
from holter.diagnosis.causality.console import read_last_traceback
from holter.model.clock import Clock

HEAD = 'Traceback (most recent call last):\n  File "/home/ada/train.py", line 9, in <module>\n    main()\n'


def keep(directory: Path, *texts: str, stream: int = STDERR) -> str:
    writer = TranscriptWriter(str(directory), "output", limit_bytes=64 << 20, clock=Clock())
    for text in texts:
        writer.append(text.encode(), stream)
    writer.close()
    return str(directory)


def test_a_traceback_of_a_thousand_frames_has_its_beginning(tmp_path: Path) -> None:
    frames = '  File "/lib/python3.11/copy.py", line 146, in deepcopy\n    y = copier(x, memo)\n' * 1000
    directory = keep(tmp_path, "epoch 1\n" * 1000, HEAD, frames, "RecursionError: too deep\n")

    lines = read_last_words(directory, since_ns=0)

    assert lines[0].text == "Traceback (most recent call last):"
    found = read_last_traceback(lines)
    assert found is not None
    assert (found.type, found.message) == ("RecursionError", "too deep")
    assert len(lines) < 2 * MOST_LINES


def test_a_message_of_megabytes_has_its_beginning(tmp_path: Path) -> None:
    directory = keep(tmp_path, HEAD, "ValueError: tensor(", *["0.1234, " * 8000] * 60, ")\n")

    found = read_last_traceback(read_last_words(directory, since_ns=0))

    assert found is not None
    assert found.type == "ValueError"
    assert found.message.startswith("tensor(0.1234, ")
    assert len(found.message) < 3 * MOST_TEXT


def test_an_old_traceback_after_which_the_program_went_on_is_left_out(tmp_path: Path) -> None:
    frames = '  File "/lib/python3.11/copy.py", line 146, in deepcopy\n    y = copier(x, memo)\n' * 1000
    directory = keep(tmp_path, HEAD, frames, "RecursionError: too deep\n", "loss 0.1\n" * 20_000)

    lines = read_last_words(directory, since_ns=0)

    assert {line.text for line in lines} == {"loss 0.1"}


def test_what_an_earlier_attempt_printed_is_left_out(tmp_path: Path) -> None:
    directory = keep(tmp_path, HEAD, "ValueError: long ago\n")

    assert read_last_words(directory, since_ns=1 << 62) == []


def test_lines_that_come_in_parts_are_put_together_by_stream() -> None:
    parts = [(STDOUT, b"lo"), (STDERR, b"war"), (STDOUT, b"ss 0.1\nnext"), (STDERR, b"ning\n")]

    lines = list(lines_of(Printed(number, stream, data) for number, (stream, data) in enumerate(parts)))

    assert [(line.text, line.at_ns, line.is_error) for line in lines] == [
        ("loss 0.1", 0, False),
        ("warning", 1, True),
        ("next", 2, False),
    ]
