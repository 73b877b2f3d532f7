"""The cells that a notebook's kernel ran."""

import msgspec

from holter.errors import JournalError
from holter.journal.decoding import decode_control
from holter.journal.reader import scan
from holter.journal.rundir import list_segments
from holter.model.records import NUMBERS, CellEnded, CellStarted

_KINDS = (NUMBERS[CellStarted], NUMBERS[CellEnded])


class RanCell(msgspec.Struct, frozen=True, kw_only=True):
    """One cell; None is what nobody could measure, or what is still to come."""

    number: int
    source: str
    started_at: float
    took_s: float | None
    """None for the cell that is running, or was when the kernel died."""
    rss_bytes: int | None
    """When it had ended."""
    grown_bytes: int | None
    peak_bytes: int | None
    gpu_peak_bytes: int | None
    error: str


def read_cells(directory: str) -> list[RanCell]:
    """All cells that the journals of a run tell of, in the order in which they began. Raises OSError, NewerJournal."""
    found = []
    for paths in list_segments(directory).values():
        starts: dict[int, CellStarted] = {}
        ends: dict[int, CellEnded] = {}
        for path in paths:
            _read(path, starts, ends)
        found += [_cell(start, ends.get(ordinal)) for ordinal, start in starts.items()]
    return sorted(found, key=lambda cell: cell.started_at)


def _read(path: str, starts: dict[int, CellStarted], ends: dict[int, CellEnded], /) -> None:
    with open(path, "rb") as file:
        data = file.read()
    try:
        frames = scan(data).frames if data.strip(b"\0") else []
    except JournalError:
        return  # damage is told elsewhere
    for frame in frames:
        record = decode_control(data, frame) if frame.kind in _KINDS else None
        if isinstance(record, CellStarted):
            starts[record.ordinal] = record
        elif isinstance(record, CellEnded):
            ends[record.ordinal] = record


def _cell(start: CellStarted, end: CellEnded | None) -> RanCell:
    known = CellEnded(at_ns=start.at_ns, ordinal=start.ordinal) if end is None else end
    grown = None
    if known.rss_bytes is not None and start.rss_bytes is not None:
        grown = known.rss_bytes - start.rss_bytes
    return RanCell(
        number=start.number,
        source=start.source,
        started_at=start.at_ns / 1e9,
        took_s=None if end is None else round((end.at_ns - start.at_ns) / 1e9, 6),
        rss_bytes=known.rss_bytes,
        grown_bytes=grown,
        peak_bytes=known.peak_bytes,
        gpu_peak_bytes=known.gpu_peak_bytes,
        error=known.error,
    )
