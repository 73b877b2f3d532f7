"""A journal goes on in a new file when one is full; the last one tells the whole story."""

import os
from pathlib import Path

import pytest

from holter.errors import NotKept
from holter.journal import segment, writer
from holter.journal.digest import Digest, digest
from holter.journal.frame import HEADER_SIZE, encode_body
from holter.journal.reader import scan
from holter.journal.segment import begin_segment
from holter.model.records import Alerted, Beat, Configured, Described, Finished, Flushed, Noted, Preempting, Summarised
from tests.unit.journal.recording import Recording, count_files, leave_open, read, read_rows

pytestmark = pytest.mark.usefixtures("kind_of_segment")


def digested(recording: Recording, paths: list[str]) -> Digest:
    found = digest(recording.journal.id.hex(), paths)
    assert found is not None
    return found


def fill(recording: Recording, rows: int) -> None:
    for step in range(rows):
        recording.log({"loss": step * 0.5, "acc": step * 0.25}, step)


def test_rows_go_on_in_the_next_segment(tmp_path: Path) -> None:
    recording = Recording(tmp_path)
    fill(recording, 30_000)
    segments = recording.closed()
    assert len(segments) == 3
    assert [row.step for row in read_rows(*segments)] == list(range(30_000))


def test_a_closed_segment_has_no_reserved_space(tmp_path: Path) -> None:
    recording = Recording(tmp_path)
    fill(recording, 10_000)
    for data in recording.closed():
        found = scan(data)
        assert (found.end, found.skipped) == (len(data), [])


def test_each_segment_knows_its_number_and_where_in_the_journal_it_begins(tmp_path: Path) -> None:
    recording = Recording(tmp_path)
    fill(recording, 30_000)
    segments = recording.closed()
    headers = [header for data in segments if (header := scan(data).header)]
    assert [header.segment for header in headers] == [1, 2, 3]
    assert [header.base for header in headers] == [0, len(segments[0]), len(segments[0]) + len(segments[1])]
    assert {header.journal for header in headers} == {recording.journal.id}


def test_segments_grow_to_eight_mebibytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def note(path: str, size: int, *, start: bytes) -> segment.Segment:
        asked.append(size)
        return begin_segment(path, size, start=start)

    monkeypatch.setattr(writer, "begin_segment", note)
    recording = Recording(tmp_path)
    for _ in range(250):
        recording.journal.append(encode_body(200, bytes(100_000)))
    recording.journal.close()
    assert asked == [256 << 10, 1 << 20, 4 << 20, 8 << 20, 8 << 20, 8 << 20]


def test_the_last_segment_alone_tells_the_totals(tmp_path: Path) -> None:
    recording = Recording(tmp_path)
    recording.log({"phase": "warmup"}, 0)
    fill(recording, 30_000)
    recording.journal.close()
    alone = digested(recording, recording.paths()[-1:])
    assert (alone.rows, alone.last_step) == (30_001, 29_999)
    assert alone.last == {"phase": "warmup", "loss": 14_999.5, "acc": 7_499.75}
    assert alone.opened.pid == 7


def test_the_last_segment_alone_tells_everything_that_lasts(tmp_path: Path) -> None:
    recording = Recording(tmp_path)
    recording.say(Described(at_ns=1, project="p", name="old", started_ns=1))
    recording.say(Described(at_ns=2, project="p", name="new", started_ns=1))
    recording.say(Configured(at_ns=3, config={"lr": 0.1}))
    recording.say(Summarised(at_ns=4, summary={"best": 0.9}))
    recording.say(Alerted(at_ns=5, title="look"))
    recording.say(Flushed(at_ns=6, step=1))
    fill(recording, 30_000)
    recording.say(Finished(at_ns=7, exit_code=0))
    recording.journal.close()
    alone = digested(recording, recording.paths()[-1:])
    assert alone.described == Described(at_ns=2, project="p", name="new", started_ns=1)
    assert (alone.config, alone.summary) == ({"lr": 0.1}, {"best": 0.9})
    assert alone.said == [Alerted(at_ns=5, title="look"), Finished(at_ns=7, exit_code=0)]


def test_what_lasts_is_bounded(tmp_path: Path) -> None:
    recording = Recording(tmp_path)
    for number in range(300):
        recording.say(Noted(at_ns=1, text=str(number)))
    fill(recording, 10_000)
    recording.journal.close()
    alone = digested(recording, recording.paths()[-1:])
    assert [record.text for record in alone.said if isinstance(record, Noted)] == [str(n) for n in range(44, 300)]


def test_a_record_larger_than_a_segment_gets_one_of_its_own(tmp_path: Path) -> None:
    recording = Recording(tmp_path)
    recording.log({"text": "a"})
    recording.log({"text": "x" * (10 << 20)}, 1)
    recording.log({"text": "b"}, 2)
    rows = read_rows(*recording.closed())
    assert [len(row.values["text"]) for row in rows] == [1, 10 << 20, 1]


def test_a_record_larger_than_a_journal_takes_is_refused_and_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "LARGEST_RECORD", 1 << 20)
    recording = Recording(tmp_path)
    recording.log({"text": "a"})
    with pytest.raises(NotKept, match="a record of 3 MiB is larger than the 1 MiB"):
        recording.log({"text": "x" * (3 << 20)})
    recording.log({"text": "b"})
    [data] = recording.closed()
    assert [row.values["text"] for row in read_rows(data)] == ["a", "b"]
    assert digested(recording, recording.paths()).said[0].records == 1  # type: ignore[attr-defined]  # a Lost


def test_a_record_that_was_too_large_is_not_repeated_in_later_segments(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "LARGEST_RECORD", 1 << 20)
    recording = Recording(tmp_path)
    recording.say(Configured(at_ns=1, config={"lr": 0.1}))
    with pytest.raises(NotKept, match="a record of 3 MiB"):
        recording.say(Configured(at_ns=2, config={"text": "x" * (3 << 20)}))
    fill(recording, 10_000)
    recording.journal.close()
    assert digested(recording, recording.paths()[-1:]).config == {"lr": 0.1}


def test_what_others_say_a_thousand_times_does_not_push_out_what_was_said_once(tmp_path: Path) -> None:
    recording = Recording(tmp_path)
    recording.say(Alerted(at_ns=0, title="first"))
    recording.say(Preempting(at_ns=1))
    for number in range(1000):
        recording.say(Alerted(at_ns=2 + number, title=str(number)))
    recording.say(Noted(at_ns=2000, text="last"))
    fill(recording, 20_000)
    recording.journal.close()
    said = digested(recording, recording.paths()[-1:]).said
    assert said[0] == Preempting(at_ns=1)
    assert [alert.title for alert in said if isinstance(alert, Alerted)] == [str(n) for n in range(744, 1000)]
    assert said[-1] == Noted(at_ns=2000, text="last")


def test_an_open_segment_reads_like_a_closed_one(tmp_path: Path) -> None:
    recording = Recording(tmp_path)
    fill(recording, 100)
    [living] = leave_open(recording)
    found = scan(living)
    [closed] = recording.closed()
    assert (found.frames, found.end, found.skipped) == (scan(closed).frames, len(closed), [])


def test_nothing_is_made_before_the_first_record(tmp_path: Path) -> None:
    recording = Recording(tmp_path / "run")
    recording.journal.close()
    assert count_files(tmp_path) == 0


def test_opening_makes_the_first_segment_with_its_prologue(tmp_path: Path) -> None:
    recording = Recording(tmp_path / "run")
    recording.journal.open()
    recording.journal.open()
    [data] = leave_open(recording)
    assert len(read(data)) == 1
    recording.journal.close()


def test_only_the_owner_may_read(tmp_path: Path) -> None:
    recording = Recording(tmp_path / "run")
    recording.log({"a": 1})
    [path] = recording.paths()
    assert os.stat(path).st_mode & 0o777 == 0o600
    assert os.stat(tmp_path / "run").st_mode & 0o777 == 0o700
    recording.journal.close()


def test_a_closed_journal_refuses_records_and_counts_them(tmp_path: Path) -> None:
    recording = Recording(tmp_path)
    recording.log({"a": 1})
    recording.journal.close()
    recording.journal.close()
    with pytest.raises(NotKept, match="closed"):
        recording.log({"a": 2})
    assert recording.journal.lost == 1


def test_what_an_interrupt_left_behind_is_replaced(tmp_path: Path) -> None:
    recording = Recording(tmp_path)
    path = tmp_path / f"{recording.journal.id.hex()}-000001.seg"
    path.write_bytes(bytes(100))
    recording.log({"a": 1})
    assert len(read_rows(*recording.closed())) == 1


def test_a_beat_is_not_repeated(tmp_path: Path) -> None:
    recording = Recording(tmp_path)
    recording.say(Beat(at_ns=1, monotonic_ns=1))
    fill(recording, 10_000)
    recording.journal.close()
    assert digested(recording, recording.paths()).beat is None


def test_syncing_a_journal_brings_every_segment_to_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced = set()

    def note(fd: int) -> None:
        synced.add(os.readlink(f"/proc/self/fd/{fd}"))

    monkeypatch.setattr(os, "fsync", note)
    monkeypatch.setattr(os, "fdatasync", note)
    recording = Recording(tmp_path)
    fill(recording, 10_000)
    recording.journal.sync()
    assert synced == {*recording.paths(), str(tmp_path)}
    recording.journal.close()


def test_a_header_is_the_first_64_bytes_of_a_segment(tmp_path: Path) -> None:
    recording = Recording(tmp_path)
    recording.log({"a": 1})
    [data] = recording.closed()
    assert scan(data).frames[0].at == HEADER_SIZE == 64
