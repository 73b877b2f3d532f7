"""A journal as one stream of bytes: what is given once never changes, and all of it is given in the end."""

import os
from collections.abc import Iterator
from pathlib import Path

from holter.journal.frame import encode_record
from holter.journal.ranges import JournalStream
from holter.journal.rundir import list_segments
from holter.journal.writer import JournalWriter
from holter.model.clock import Clock
from holter.model.records import Noted, Opened


def prologue() -> Iterator[bytes]:
    yield encode_record(
        Opened(at_ns=1, run="r", writer="client", host="h", boot_id="b", pid=1, process_started=1, holter="0")
    )


def begin(directory: Path) -> JournalWriter:
    return JournalWriter(str(directory), prologue, clock=Clock())


def note(writer: JournalWriter, text: str) -> None:
    writer.record(Noted(at_ns=1, text=text))


def paths_of(directory: Path) -> list[str]:
    [paths] = list_segments(str(directory)).values()
    return paths


def read_all(directory: Path, stream: JournalStream, *, most: int = 1000, is_final: bool = False) -> bytes:
    data = b""
    while piece := stream.read(paths_of(directory), len(data), most=most, is_final=is_final):
        data += piece
    return data


def on_disk(directory: Path) -> bytes:
    return b"".join(Path(path).read_bytes() for path in paths_of(directory))


def test_what_is_given_while_it_is_written_is_what_is_there_in_the_end(tmp_path: Path) -> None:
    writer, stream, given = begin(tmp_path), JournalStream(), b""
    for number in range(300):
        note(writer, f"{number}" * 500)
        given += stream.read(paths_of(tmp_path), len(given), most=700)
    writer.close()
    given += read_all(tmp_path, JournalStream())[len(given) :]
    assert len(paths_of(tmp_path)) > 1
    assert given == on_disk(tmp_path)


def test_the_reserved_space_behind_the_last_record_is_not_given(tmp_path: Path) -> None:
    writer = begin(tmp_path)
    note(writer, "one")
    before = read_all(tmp_path, JournalStream())
    assert len(before) < os.path.getsize(paths_of(tmp_path)[0])
    writer.close()
    assert before == on_disk(tmp_path)


def test_a_record_in_the_making_is_given_when_it_is_whole(tmp_path: Path) -> None:
    writer = begin(tmp_path)
    note(writer, "one")
    first = read_all(tmp_path, JournalStream())
    note(writer, "two")
    writer.close()
    [path] = paths_of(tmp_path)
    whole = Path(path).read_bytes()
    stream = JournalStream()
    Path(path).write_bytes(whole[:-7] + bytes(7 + 100))
    assert read_all(tmp_path, stream) == first
    Path(path).write_bytes(whole)
    assert read_all(tmp_path, stream) == whole


def test_damage_is_passed_where_a_whole_record_lies_behind_it(tmp_path: Path) -> None:
    writer = begin(tmp_path)
    for text in ("one", "two", "three"):
        note(writer, text)
    writer.close()
    [path] = paths_of(tmp_path)
    data = bytearray(Path(path).read_bytes())
    data[data.index(b"two")] ^= 1
    Path(path).write_bytes(data)
    assert read_all(tmp_path, JournalStream()) == bytes(data)


def test_a_lost_segment_is_zeros(tmp_path: Path) -> None:
    writer = begin(tmp_path)
    for number in range(4000):
        note(writer, f"{number}" * 500)
    writer.close()
    whole, paths = on_disk(tmp_path), paths_of(tmp_path)
    assert len(paths) > 2
    start = os.path.getsize(paths[0])
    stop = start + os.path.getsize(paths[1])
    os.unlink(paths[1])
    given = read_all(tmp_path, JournalStream(), most=1 << 20)
    assert given == whole[:start] + bytes(stop - start) + whole[stop:]


def test_space_that_was_never_written_hides_nothing_in_the_end(tmp_path: Path) -> None:
    writer = begin(tmp_path)
    for text in ("one", "two" * 100, "three"):
        note(writer, text)
    writer.close()
    [path] = paths_of(tmp_path)
    data = bytearray(Path(path).read_bytes())
    at = data.index(b"two") - 40
    data[at : at + 200] = bytes(200)
    Path(path).write_bytes(data)
    assert read_all(tmp_path, JournalStream(), is_final=True) == bytes(data)
