"""All that read a journal find the same in it: torn, flipped, cut, with holes, and however it grew."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from holter.catalog.read.machines import Machines
from holter.catalog.read.row_follower import RunFollower
from holter.journal.columns import merge_rows, read_tables
from holter.journal.digest import Digest, GrowingDigests, digest
from holter.journal.frame import HEADER_SIZE
from holter.journal.place import LOOKS_AT_ZEROS
from holter.journal.ranges import JournalStream
from holter.journal.reader import scan
from holter.journal.row_count import RowCount
from holter.journal.rundir import run_directory, segments_of
from holter.journal.tail import last_rows
from holter.model.records import NUMBERS, Alerted, Configured, Declared
from holter.server.ingest.followed_run import FollowedRun
from holter.storage.files.received import ReceivedRuns
from holter.storage.opening import open_storage
from holter.storage.series import Line
from tests.unit.journal.recording import Recording, end_of, scratch

JOURNAL = bytes(range(16)).hex()
Row = tuple[int, dict[str, Any]]
ACTIONS = ("packed", "other", "loose", "words", "segment")


def record(actions: Sequence[str]) -> list[bytes]:
    with scratch() as folder:
        recording = Recording(folder)
        recording.journal.open()
        for step, action in enumerate(actions):
            match action:
                case "packed":
                    recording.log({"loss": step * 0.5, "seen": step}, step)
                case "other":
                    recording.log({"rate": step * 0.25}, step)
                case "loose":
                    recording.log({"note": "x" * (step % 50), "loss": step}, step)
                case "words":
                    recording.say(Configured(at_ns=1, config={"step": step}))
                    recording.say(Alerted(at_ns=step, title="hot"))
                case "segment":
                    recording.journal.close()
                    recording.journal.reopen()
        return recording.closed()


class Damage(msgspec.Struct, frozen=True):
    """What happens to some bytes. `at` is from 0 to 1."""

    how: str
    at: float
    count: int

    def apply(self, data: bytes, first: int) -> bytes:
        at = first + int(self.at * max(0, len(data) - first - 1))
        stop = min(len(data), at + self.count)
        match self.how:
            case "flip":
                return data[:at] + bytes([data[at] ^ (1 << self.count % 8)]) + data[at + 1 :] if at < stop else data
            case "zeros":
                return data[:at] + bytes(stop - at) + data[stop:]
            case _:
                return data[:at]


def spoil(segments: list[bytes], damages: Sequence[tuple[float, Damage]], *, spared: Sequence[int]) -> list[bytes]:
    """Damage some of them; of the first, not who wrote it. Records of the spared kinds stay as they are."""
    spoilt = list(segments)
    for where, damage in damages:
        number = int(where * len(segments))
        data = spoilt[number]
        first = end_of(scan(segments[0]).frames[0]) if number == 0 else 0
        if damage.how == "cut" and number < len(segments) - 1:
            continue  # only the last one is ever written to
        changed = damage.apply(data, first)
        kept = [frame for frame in scan(segments[number]).frames if frame.kind in spared]
        if all(changed[frame.at : end_of(frame)] == data[frame.at : end_of(frame)] for frame in kept):
            spoilt[number] = changed
    return spoilt


class Readers:
    """Everybody who comes back for more, at a directory that grows."""

    def __init__(self, data: str) -> None:
        self.directory = run_directory(data, "r")
        os.makedirs(self.directory)
        self.follower = RunFollower(self.directory)
        self.followed: list[Row] = []
        self.digests = GrowingDigests(self.directory)
        self.storage = open_storage("memory:")
        self.run = FollowedRun("r", self.directory, storage=self.storage, machines=Machines())
        self.stream, self.sent = JournalStream(), b""
        self.counts = RowCount()

    @property
    def paths(self) -> list[str]:
        return segments_of(self.directory, JOURNAL)

    def read(self, *, is_final: bool = False) -> None:
        heard = self.follower.hear(is_final=is_final)
        self.followed += [(row.step, row.values) for row in heard.rows]
        self.digests.update(is_final=is_final)
        for _ in range(8 * LOOKS_AT_ZEROS if is_final else 1):  # it is never told that nobody writes any more
            self.run.read(1)
        while more := self.stream.read(self.paths, len(self.sent), most=700, is_final=is_final):
            self.sent += more
        self.counts.before(len(self.sent), self.paths)

    def grow(self, segments: list[bytes], length: int, *, reserved: int) -> None:
        """Lay down so many bytes of the journal."""
        for number, data in enumerate(segments, 1):
            if length > 0:
                path = Path(self.directory) / f"{JOURNAL}-{number:06d}.seg"
                is_last = number == len(segments) or length < len(data)
                path.write_bytes(data[:length] + bytes(reserved if is_last else 0))
            length -= len(data)


def whole_rows(paths: list[str]) -> tuple[list[Row], int]:
    """In the order of their steps, and how many there are beside them whose declaration is nowhere."""
    tables = read_tables(paths)
    return [(row.pop("_step"), row) for row in merge_rows([tables]) if row.pop("_timestamp")], tables.unknown


def sorted_rows(rows: list[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: row[0])


def points(readers: Readers) -> dict[str, list[tuple[int, float]]]:
    found: dict[str, list[tuple[int, float]]] = {}
    for key in ("loss", "seen", "rate"):
        line = readers.storage.series.points(Line("r", key))
        found[key] = list(zip(line.steps.tolist(), line.values.tolist(), strict=True))
    return found


def numbers(rows: list[Row]) -> dict[str, list[tuple[int, float]]]:
    return {
        key: [(step, float(values[key])) for step, values in sorted_rows(rows) if key in values]
        for key in ("loss", "seen", "rate")
    }


def received(readers: Readers, data: str) -> list[str]:
    """Where a server keeps what was sent, in pieces."""
    kept = ReceivedRuns(data)
    have = 0
    while have < len(readers.sent):
        have = kept.accept(JOURNAL, "r", offset=have, data=readers.sent[have : have + 900])
    kept.close()
    return segments_of(run_directory(data, "r"), JOURNAL)


def said(found: Digest | None) -> dict[str, Any]:
    names = ("opened", "config", "rows", "last", "last_step", "highest_step", "said", "unknown")
    return {name: getattr(found, name) for name in names} if found is not None else {}


def is_begun(segment: bytes, whole: bytes) -> bool:
    """Whether a server can see where it begins, in one stream of bytes: by its header, or by who writes it."""
    opened = end_of(scan(whole).frames[0])
    starts = [(segment[start:stop], whole[start:stop]) for start, stop in ((0, HEADER_SIZE), (HEADER_SIZE, opened))]
    return len(segment) < opened or any(found == written for found, written in starts)


damages = st.lists(
    st.tuples(
        st.floats(0, 0.999),
        st.builds(Damage, st.sampled_from(["flip", "zeros", "cut"]), st.floats(0, 1), st.integers(1, 150)),
    ),
    max_size=4,
)


@settings(max_examples=50, deadline=None)
@given(
    actions=st.lists(st.sampled_from(ACTIONS), min_size=8, max_size=40),
    damages=damages,
    cuts=st.lists(st.floats(0, 1), max_size=5),
    reserved=st.sampled_from([0, 3000]),
)
def test_all_readers_agree(
    actions: list[str], damages: list[tuple[float, Damage]], cuts: list[float], reserved: int
) -> None:
    whole = record(actions)
    spared = [NUMBERS[Declared]] if cuts else []
    compare(whole, spoil(whole, damages, spared=spared), cuts=cuts, reserved=reserved)


def test_rows_whose_declaration_is_damaged_are_read_with_the_one_of_another_segment() -> None:
    whole = record(["packed"] * 10 + ["segment"] + ["packed"] * 5)
    declared = next(frame for frame in scan(whole[0]).frames if frame.kind == NUMBERS[Declared])
    first = whole[0][: declared.at] + bytes(end_of(declared) - declared.at) + whole[0][end_of(declared) :]
    rows = compare(whole, [first, whole[1]])
    assert [step for step, _ in rows] == [*range(10), *range(11, 16)]


def compare(whole: list[bytes], segments: list[bytes], *, cuts: Sequence[float] = (), reserved: int = 0) -> list[Row]:
    """Let all of them read what is left of a journal, as it grows; returns the rows that all have found."""
    with scratch() as data, scratch() as elsewhere:
        readers = Readers(data)
        total = sum(map(len, segments))
        for cut in sorted(cuts):
            readers.grow(segments, int(cut * total), reserved=reserved)
            readers.read()
        readers.grow(segments, total, reserved=reserved)
        readers.read(is_final=True)
        rows, undeclared = whole_rows(readers.paths)
        assert sorted_rows(readers.followed) == rows
        assert sorted_rows([(row.step, row.values) for row in last_rows(readers.paths, most_bytes=1 << 30)]) == rows
        assert points(readers) == numbers(rows)
        found = digest(JOURNAL, readers.paths)
        assert [said(each) for each in readers.digests.digests] == [said(found)]
        assert RowCount().before(1 << 40, readers.paths) == len(rows) + undeclared
        assert readers.counts.before(len(readers.sent), readers.paths) == len(rows) + undeclared
        there = received(readers, elsewhere)
        assert whole_rows(there) == (rows, undeclared)
        if all(is_begun(*pair) for pair in zip(segments, whole, strict=True)):
            assert said(digest(JOURNAL, there)) == said(found)
    return rows
