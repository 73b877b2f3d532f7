"""The cells that a notebook's kernel ran."""

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from holter.journal.decoding import decode_control
from holter.journal.place import Place
from holter.journal.rundir import list_segments
from holter.model.cell_names import cell_name, name_cells
from holter.model.evidence import End
from holter.model.records import NUMBERS, CellEnded, CellStarted, Raised

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
        numbers: dict[str, int] = {}
        for record in _read(paths):
            if isinstance(record, CellStarted):
                starts[record.ordinal] = record
                numbers |= record.files
            else:
                ends[record.ordinal] = record
        found += [_cell(start, ends.get(ordinal), numbers) for ordinal, start in starts.items()]
    return sorted(found, key=lambda cell: cell.started_at)


def read_cell_numbers(paths: Sequence[str]) -> dict[str, int]:
    """The numbers of the cells by the files that Python takes them for, from the segments of a kernel's journal.

    Raises OSError, NewerJournal.
    """
    numbers: dict[str, int] = {}
    for record in _read(paths):
        numbers |= record.files if isinstance(record, CellStarted) else {}
    return numbers


def cell_at(paths: Sequence[str], at_ns: int) -> CellStarted | None:
    """The last cell that had begun by then. Raises OSError, NewerJournal."""
    began = [each for each in _read(paths) if isinstance(each, CellStarted) and each.at_ns <= at_ns]
    return max(began, key=lambda each: each.ordinal, default=None)


def with_named_cells(end: End, numbers: Mapping[str, int]) -> End:
    """The same with `In[12]` for the file that Python takes a cell for. Pure."""
    return msgspec.structs.replace(
        end,
        fault_log=name_cells(end.fault_log, numbers),
        raised=_named(end.raised, numbers) if end.raised is not None else None,
        others_raised=tuple(_named(each, numbers) for each in end.others_raised),
    )


def _named(raised: Raised, numbers: Mapping[str, int]) -> Raised:
    frames = (msgspec.structs.replace(each, file=cell_name(each.file, numbers)) for each in raised.frames)
    return msgspec.structs.replace(
        raised,
        message=name_cells(raised.message, numbers),
        traceback=name_cells(raised.traceback, numbers),
        frames=tuple(frames),
    )


def _read(paths: Sequence[str]) -> Iterator[CellStarted | CellEnded]:
    for piece in Place().pieces(paths, is_final=True):
        for stretch in piece.stretches:
            for frame in stretch.frames() if stretch.kind in _KINDS else ():
                if isinstance(record := decode_control(piece.data, frame), CellStarted | CellEnded):
                    yield record


def _cell(start: CellStarted, end: CellEnded | None, numbers: Mapping[str, int], /) -> RanCell:
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
        error=name_cells(known.error, numbers),
    )
