"""What is kept of a console, byte by byte."""

import errno
import os
from pathlib import Path

import pytest

from holter.console.copying import FileCopier
from holter.console.files import BOTH, STDERR, STDOUT, claim_name, lines_before, list_transcripts, read_marks
from holter.console.reading import ConsoleReader, Printed, size_of_console
from holter.console.scrubbing import Scrubber
from holter.console.transcript import TranscriptWriter
from holter.model.clock import Clock
from tests.secret_samples import BY_KIND, leaks


class SteppingClock(Clock):
    """A second passes with each look."""

    def __init__(self) -> None:
        super().__init__()
        self.ns = 0

    def now_ns(self) -> int:
        self.ns += 1_000_000_000
        return self.ns


def writer(directory: Path, limit_bytes: int = 1 << 20) -> TranscriptWriter:
    return TranscriptWriter(str(directory), claim_name(str(directory)), limit_bytes=limit_bytes, clock=SteppingClock())


def printed(directory: Path) -> bytes:
    return b"".join(each.data for each in ConsoleReader(str(directory)).hear())


def test_every_byte_is_kept_in_order_with_its_time_and_stream(tmp_path: Path) -> None:
    transcript = writer(tmp_path)
    transcript.append(b"one\n", STDOUT)
    transcript.append(b"two\n", STDERR)
    assert (tmp_path / "output.log").read_bytes() == b"one\ntwo\n"
    assert ConsoleReader(str(tmp_path)).hear() == [
        Printed(1_000_000_000, STDOUT, b"one\n"),
        Printed(2_000_000_000, STDERR, b"two\n"),
    ]


def test_a_second_transcript_has_another_name_and_is_read_in_the_order_of_time(tmp_path: Path) -> None:
    clock = SteppingClock()
    names = [claim_name(str(tmp_path)) for _ in range(2)]
    first, second = (TranscriptWriter(str(tmp_path), name, limit_bytes=1000, clock=clock) for name in names)
    for text in (b"a", b"c"):
        first.append(text, STDOUT)
        second.append(text.upper(), STDOUT)
    assert names == ["output", "output-2"]
    assert printed(tmp_path) == b"aAcC"


def test_of_too_much_the_beginning_and_the_end_are_kept_and_the_gap_is_known(tmp_path: Path) -> None:
    transcript = writer(tmp_path, limit_bytes=1600)
    for number in range(1000):
        transcript.append(b"%09d\n" % number, STDOUT)
    kept = ConsoleReader(str(tmp_path)).hear()
    lines = b"".join(each.data for each in kept).split()
    assert lines[:80] == [b"%09d" % number for number in range(80)]
    assert lines[-70:] == [b"%09d" % number for number in range(930, 1000)]
    assert len(lines) <= 160
    assert sum(each.missed for each in kept) == 10_000 - 10 * len(lines)
    assert size_of_console(str(tmp_path)) == (10_000, 10 * len(lines))
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) < 2 * 1600


def test_a_large_piece_of_output_does_not_exceed_the_limit_and_its_lines_stay_whole(tmp_path: Path) -> None:
    transcript = writer(tmp_path, limit_bytes=64 << 10)
    for start in range(0, 20_000, 5_000):
        transcript.append(b"".join(b"%09d\n" % number for number in range(start, start + 5_000)), STDOUT)
    kept = [path.read_bytes() for path in tmp_path.glob("output*.log")]
    assert sum(map(len, kept)) <= (64 << 10) + 9 * 10
    assert {piece[-1:] for piece in kept} == {b"\n"}
    assert printed(tmp_path).split()[-1] == b"000019999"


def test_the_index_of_a_piece_says_how_many_lines_were_printed_before_it(tmp_path: Path) -> None:
    first = writer(tmp_path, limit_bytes=1600)
    for number in range(1000):
        first.append(b"%09d\n" % number, STDOUT)
    second = TranscriptWriter(str(tmp_path), "output", limit_bytes=1600, clock=SteppingClock())
    for number in range(1000, 1050):
        second.append(b"%09d\n" % number, STDERR)
    pieces = list_transcripts(str(tmp_path))["output"]
    assert len(pieces) == 9
    assert [lines_before(piece) for piece in pieces] == [piece.base // 10 for piece in pieces]
    found = ConsoleReader(str(tmp_path)).hear()
    assert {each.stream for each in found} == {STDOUT, STDERR}
    assert all(each.at_ns > 2000 for each in found)
    second.skip(500)
    second.append(b"after\n", STDOUT)
    assert lines_before(list_transcripts(str(tmp_path))["output"][-1]) is None


def test_whoever_takes_a_transcript_over_goes_on_at_its_end(tmp_path: Path) -> None:
    first = writer(tmp_path, limit_bytes=160)
    for number in range(30):
        first.append(b"%09d\n" % number, STDOUT)
    second = TranscriptWriter(str(tmp_path), "output", limit_bytes=160, clock=Clock())
    second.reopen()
    assert second.end == first.end == 300
    second.append(b"000000030\n", STDOUT)
    assert printed(tmp_path).split()[-2:] == [b"000000029", b"000000030"]


def test_what_the_disk_does_not_take_is_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    transcript = writer(tmp_path)
    transcript.append(b"before", STDOUT)

    def full(fd: int, data: bytes) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "write", full)
        transcript.append(b"lost", STDOUT)
    transcript.append(b"after", STDOUT)
    found = ConsoleReader(str(tmp_path)).hear()
    assert [(each.data, each.missed) for each in found] == [(b"before", 0), (b"after", 4)]


def test_an_index_that_is_torn_or_gone_costs_only_times(tmp_path: Path) -> None:
    transcript = writer(tmp_path)
    transcript.append(b"one", STDOUT)
    transcript.append(b"two", STDERR)
    index = tmp_path / "output.idx"
    index.write_bytes(index.read_bytes()[:-5])
    assert [(each.stream, each.data) for each in ConsoleReader(str(tmp_path)).hear()] == [(STDOUT, b"onetwo")]
    index.unlink()
    assert [(each.stream, each.data) for each in ConsoleReader(str(tmp_path)).hear()] == [(BOTH, b"onetwo")]


def test_streams_that_alternate_do_not_make_the_index_larger_than_the_text(tmp_path: Path) -> None:
    transcript = writer(tmp_path, limit_bytes=4000)
    for number in range(1000):
        transcript.append(b"x", STDOUT if number % 2 else STDERR)
    (piece,) = list_transcripts(str(tmp_path))["output"]
    assert len(read_marks(piece)) <= 25


def test_secrets_are_overwritten_in_place_also_when_they_come_in_two_parts(tmp_path: Path) -> None:
    transcript, scrubber = writer(tmp_path), Scrubber(str(tmp_path))
    transcript.append(b"a password=hun", STDOUT)
    scrubber.scrub(1 << 20)
    transcript.append(b"ter2 b", STDOUT)
    scrubber.scrub(1 << 20)
    scrubber.scrub(1 << 20)
    assert (tmp_path / "output.log").read_bytes() == b"a password=******* b"


@pytest.mark.parametrize("kind", ["hugging face", "openai", "github personal", "bearer", "bare aws secret"])
def test_a_secret_that_is_printed_in_parts_is_overwritten_wherever_it_was_cut(tmp_path: Path, kind: str) -> None:
    sample = BY_KIND[kind]
    text = sample.text.encode()
    for cut in range(1, len(text)):
        directory = tmp_path / str(cut)
        directory.mkdir()
        transcript, scrubber = writer(directory), Scrubber(str(directory))
        transcript.append(text[:cut], STDOUT)
        scrubber.scrub(1 << 20, is_final=False)
        transcript.append(text[cut:] + b"\n", STDOUT)
        scrubber.scrub(1 << 20, is_final=False)
        assert not leaks(sample, (directory / "output.log").read_text()), cut


def test_a_private_key_is_overwritten_while_it_is_printed_and_over_the_ends_of_pieces(tmp_path: Path) -> None:
    sample = BY_KIND["RSA PRIVATE KEY"]
    found: list[str] = []
    transcript = writer(tmp_path, limit_bytes=8000)
    scrubber = Scrubber(str(tmp_path), lambda kind, secret: found.append(kind))
    transcript.append(b"x" * 3000 + b"\n", STDOUT)
    for line in sample.text.splitlines():
        transcript.append(line.encode() + b"\n", STDOUT)
        scrubber.scrub(1 << 20, is_final=False)
    pieces = list_transcripts(str(tmp_path))["output"]
    assert len(pieces) > 1
    kept = "".join(Path(piece.path).read_text() for piece in pieces)
    body = sample.text.splitlines()[1:-1]
    assert [line for line in body if line in kept] == []
    assert {*found} == {"private key"}


def test_much_is_looked_through_in_parts(tmp_path: Path) -> None:
    transcript, scrubber = writer(tmp_path, limit_bytes=8 << 20), Scrubber(str(tmp_path))
    for _ in range(3):
        transcript.append(b"x" * (1 << 20) + b" password=secret ", STDOUT)
    looks = [scrubber.scrub(1 << 20) for _ in range(8)]
    assert looks[0] is False
    assert looks[-1] is True
    assert b"secret" not in (tmp_path / "output.log").read_bytes()


def test_a_reader_hides_what_no_scrubber_has_seen(tmp_path: Path) -> None:
    writer(tmp_path).append(b"password=x\n", STDOUT)
    assert printed(tmp_path) == b"password=*\n"


def test_a_reader_begins_near_the_end_and_goes_on_with_what_comes(tmp_path: Path) -> None:
    transcript, reader = writer(tmp_path), ConsoleReader(str(tmp_path))
    transcript.append(b"0123456789", STDOUT)
    assert [each.data for each in reader.last(4)] == [b"6789"]
    assert reader.hear() == []
    transcript.append(b"ab", STDOUT)
    assert [each.data for each in reader.hear()] == [b"ab"]


class TestCopying:
    """A file into which the program prints."""

    def copier(self, path: Path, directory: Path, *, offset: int = 0, limit_bytes: int = 1 << 20) -> FileCopier:
        return FileCopier(
            os.open(path, os.O_RDONLY),
            offset,
            stream=BOTH,
            begin=lambda: writer(directory, limit_bytes),
            limit_bytes=limit_bytes,
        )

    def test_only_what_is_added_is_copied(self, tmp_path: Path) -> None:
        path, runs = tmp_path / "out.txt", tmp_path / "run"
        runs.mkdir()
        path.write_bytes(b"before ")
        copier = self.copier(path, runs, offset=7)
        copier.copy()
        assert list(runs.iterdir()) == []
        with path.open("ab") as file:
            file.write(b"one ")
        copier.copy()
        with path.open("ab") as file:
            file.write(b"two")
        copier.copy()
        copier.close()
        assert printed(runs) == b"one two"

    def test_a_file_that_is_emptied_begins_anew(self, tmp_path: Path) -> None:
        path, runs = tmp_path / "out.txt", tmp_path / "run"
        runs.mkdir()
        path.write_bytes(b"first")
        copier = self.copier(path, runs)
        copier.copy()
        path.write_bytes(b"2nd")
        copier.copy()
        copier.close()
        assert printed(runs) == b"first2nd"

    def test_the_middle_of_a_long_file_is_not_even_read(self, tmp_path: Path) -> None:
        path, runs = tmp_path / "out.txt", tmp_path / "run"
        runs.mkdir()
        path.write_bytes(b"a" * 2000)
        copier = self.copier(path, runs, limit_bytes=1600)
        copier.copy()
        with path.open("ab") as file:
            file.write(b"b" * 100_000 + b"c" * 500)
        copier.copy()
        copier.close()
        assert size_of_console(str(runs))[0] == 102_500
        assert printed(runs).endswith(b"c" * 500)
