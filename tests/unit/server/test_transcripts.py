"""What a run prints is read once, however little of it comes at a time."""

from pathlib import Path

import pytest

from holter.console.files import STDERR, STDOUT, Mark, Piece, read_marks
from holter.console.transcript import TranscriptWriter
from holter.server.ingest import transcripts
from holter.server.ingest.transcripts import TranscriptFeed
from tests.clocks import FakeClock

BATCHES = 50


def test_each_entry_of_the_index_is_read_once_and_every_line_has_its_own_time_and_stream(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[Mark] = []

    def counted(piece: Piece, *, skip: int = 0) -> list[Mark]:
        found = read_marks(piece, skip=skip)
        read.extend(found)
        return found

    monkeypatch.setattr(transcripts, "read_marks", counted)
    clock = FakeClock()
    writer = TranscriptWriter(str(tmp_path), "output", limit_bytes=1 << 20, clock=clock)
    feed = TranscriptFeed("r1", str(tmp_path), offsets={})
    found, expected = [], []
    for number in range(BATCHES):
        for stream in (STDOUT, STDERR):
            clock.advance(1.0)
            writer.append(f"{number} ".encode() * 50 + b"\n", stream)
            expected.append((clock.now_ns(), stream))
        writer.append(b"unfinished", STDERR)
        for batch in feed.read():
            found += [(at_ns, stream) for at_ns, stream, _ in batch.lines]
    assert len(found) == len(expected)
    assert found[0] == expected[0]
    assert found[1::2] == expected[1::2]  # the first of each batch goes on with what was not finished before
    assert len(read) == len({mark.at for mark in read}) >= 2 * BATCHES - 1


def test_lines_behind_what_was_not_kept_are_numbered_as_they_were_printed(tmp_path: Path) -> None:
    writer = TranscriptWriter(str(tmp_path), "output", limit_bytes=1600, clock=FakeClock())
    for number in range(1000):
        writer.append(b"line %04d\n" % number, STDOUT)
    feed = TranscriptFeed("r1", str(tmp_path), offsets={})
    batches = []
    while found := feed.read():
        batches += [batch for batch in found if batch.start != batch.stop]
    head, tail = batches[:2]
    assert tail.first is not None
    assert [head.lines[0][2], tail.lines[0][2]] == ["line 0000", f"line {tail.first:04d}"]
    assert tail.missed == 10 * (tail.first - len(head.lines))
    assert [(batch.missed, batch.first) for batch in batches[2:]] == [(0, None)] * (len(batches) - 2)
    assert batches[-1].lines[-1][2] == "line 0999"
