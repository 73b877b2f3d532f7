"""Reads what one journal says about its run without reading all of its rows."""

import struct
from typing import Any

import msgspec

from holter.errors import JournalError, NewerJournal
from holter.journal.decoding import Decoder, LoggedRow
from holter.journal.frame import HEAD, HEADER_SIZE, ROW, TAIL, decode_header
from holter.journal.reader import Frame, Skipped, Stretch, is_whole, scan
from holter.model.records import (
    FIRST_PACKED,
    LASTING,
    LOOSE_ROW,
    Beat,
    CellEnded,
    CellStarted,
    Configured,
    Described,
    Masked,
    Opened,
    Record,
    Summarised,
    Totals,
)

_STEP = struct.Struct("<q")


class Digest(msgspec.Struct):
    """One journal in short. `said` holds its lasting records in order."""

    journal: str
    opened: Opened
    described: Described | None = None
    config: dict[str, Any] | None = None
    summary: dict[str, Any] = {}
    last: dict[str, Any] = {}
    rows: int = 0
    last_step: int | None = None
    highest_step: int | None = None
    last_at_ns: int = 0
    beat: Beat | None = None
    cell: CellStarted | None = None
    """The last one that a notebook began."""
    cell_ended: CellEnded | None = None
    masked: dict[str, int] = {}
    """How many secrets its writer has hidden, by kind and place."""
    said: list[Record] = []
    skipped: list[Skipped] = []
    unknown: int = 0
    trouble: str = ""
    """Why a part of the journal could not be read at all."""


def digest(journal: str, paths: list[str]) -> Digest | None:
    """The newest segment that can be read tells all: each begins with what the earlier ones add up to.

    None where no segment says who wrote it. Raises NewerJournal, OSError.
    """
    trouble = ""
    for path in reversed(paths):
        with open(path, "rb") as file:
            data = file.read()
        try:
            found = _digest_segment(journal, data)
        except NewerJournal:
            raise
        except JournalError as error:
            # A segment that was born and not yet filled is all zeros; anything else is worth a word.
            trouble = str(error) if data.strip(b"\0") else trouble
            continue
        if found is not None:
            found.trouble = trouble
            return found
    return None


def read_opened(path: str) -> Opened | None:
    """Who writes the journal of this segment, from its first bytes; None where it can't be told. Raises OSError."""
    with open(path, "rb") as file:
        data = file.read(16 << 10)
    try:
        frames = _first_frame(data) or scan(data).frames
    except JournalError:
        return None
    for record in Decoder().decode_all(data, frames[:1]):
        if isinstance(record, Opened):
            return record
    return None


def read_project(path: str) -> str | None:
    """The project of which the first bytes of a segment speak; None where they don't. Raises OSError."""
    with open(path, "rb") as file:
        data = file.read(256 << 10)
    try:
        frames = [frame for frame in scan(data).frames if is_control(frame)]
    except JournalError:
        return None
    said = [record.project for record in Decoder().decode_all(data, frames) if isinstance(record, Described)]
    return said[-1] if said else None


def _first_frame(data: bytes) -> list[Frame]:
    """That of a sound segment, without a look at all that follow; none where it must be searched for."""
    try:
        decode_header(data)
    except JournalError:
        return []
    following = is_whole(data, HEADER_SIZE)
    return [Frame(HEAD.unpack_from(data, HEADER_SIZE)[1], HEADER_SIZE, following - 4)] if following else []


def _digest_segment(journal: str, data: bytes) -> Digest | None:
    scanned = scan(data)
    decoder = Decoder()
    result: Digest | None = None
    for record in decoder.decode_all(data, [frame for frame in scanned.frames if is_control(frame)]):
        if isinstance(record, Opened):
            result = result or Digest(journal, record)
        elif result is not None:
            add_record(result, record)
    if result is None and scanned.frames:
        raise JournalError("the record that says who wrote the segment is damaged")
    if result is not None:
        add_rows(result, data, scanned.frames, decoder=decoder)
        result.skipped = scanned.skipped
        result.unknown = decoder.unknown
    return result


def is_control(frame: Frame) -> bool:
    """Whether it holds a record, and not a row."""
    return frame.kind < FIRST_PACKED and frame.kind != LOOSE_ROW


def _is_packed(frame: Frame) -> bool:
    return frame.kind >= FIRST_PACKED and frame.stop - frame.at >= ROW.size


def add_record(result: Digest, record: Record | LoggedRow) -> None:
    """Take in what a journal says next."""
    match record:
        case Described():
            result.described = record
        case Configured():
            result.config = record.config
        case Summarised():
            result.summary = record.summary
        case Totals():
            result.rows, result.last = record.rows, dict(record.last)
            result.last_step, result.last_at_ns = record.last_step, record.last_at_ns or 0
            result.highest_step = record.highest_step
        case Beat():
            result.beat = record
        case CellStarted():
            result.cell = record
        case CellEnded():
            result.cell_ended = record
        case Masked():
            result.masked = record.counts
        case _ if isinstance(record, LASTING):
            result.said.append(record)


def add_rows(result: Digest, data: bytes, frames: list[Frame], /, *, decoder: Decoder) -> None:
    """Count the rows; decode only the last of each key set, in order, so that the last write wins."""
    rows = [frame for frame in frames if not is_control(frame)]
    newest = {frame.kind: frame for frame in rows if frame.kind != LOOSE_ROW}
    wanted = [frame for frame in rows if frame.kind == LOOSE_ROW]
    result.rows += len(rows)
    steps = [_STEP.unpack_from(data, frame.at + HEAD.size)[0] for frame in rows if _is_packed(frame)]
    for frame in sorted([*newest.values(), *wanted], key=lambda frame: frame.at):
        row = decoder.decode(data, frame)
        if isinstance(row, LoggedRow):
            result.last.update(row.values)
            result.last_at_ns = row.at_ns
            result.last_step = row.step
            steps.append(row.step)
    if result.highest_step is not None:
        steps.append(result.highest_step)
    result.highest_step = max(steps, default=None)


def add_stretches(result: Digest, data: bytes, stretches: list[Stretch], /) -> None:
    """Count rows of which each is followed by one of its kind."""
    for each in stretches:
        result.rows += each.rows
        if each.size < ROW.size + TAIL.size:
            continue
        steps = struct.Struct(f"<{HEAD.size}xq{each.size - HEAD.size - _STEP.size}x")
        (highest,) = max(steps.iter_unpack(memoryview(data)[each.at : each.at + each.rows * each.size]))
        result.highest_step = highest if result.highest_step is None else max(highest, result.highest_step)
