"""What one journal says about its run in short, and kept up to date by reading only what was added."""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import msgspec

from holter.errors import JournalError, NewerJournal
from holter.journal.aggregating import add_to_aggregates
from holter.journal.decoding import Decoder, Told, tell_segment
from holter.journal.place import LARGE_BYTES, Place
from holter.journal.rundir import list_segments, segments_of
from holter.model.awaiting import Awaited
from holter.model.metric_definitions import Aggregate, Defined, MetricDefinition
from holter.model.record import Record
from holter.model.records import (
    LASTING,
    Beat,
    CellEnded,
    CellStarted,
    Configured,
    Described,
    Masked,
    Opened,
    Saved,
    Summarised,
    Totals,
)
from holter.model.spending import Spent

_NEWEST: dict[type[Record], str] = {
    Described: "described",
    Beat: "beat",
    Awaited: "awaited",
    CellStarted: "cell",
    CellEnded: "cell_ended",
    Spent: "spent",
}
_OPENED_BYTES, _PROJECT_BYTES = 16 << 10, 256 << 10


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
    awaited: Awaited | None = None
    """What was on its way from a GPU when that was last said."""
    spent: Spent | None = None
    cell: CellStarted | None = None
    """The last one that a notebook began."""
    cell_ended: CellEnded | None = None
    masked: dict[str, int] = {}
    """How many secrets its writer has hidden, by kind and place."""
    metrics: dict[str, MetricDefinition] = {}
    aggregates: dict[str, Aggregate] = {}
    """Of the metrics of which the summary keeps more than the last value."""
    said: list[Record] = []
    unknown: int = 0
    """Records of the newest segment that this holter can't read."""


class GrowingDigest:
    """One journal, read on: what it says next, and its digest up to there. Used by one thread.

    Args:
        find_segments: the paths of all segments of the journal, for what is damaged and stands there again.
        most_bytes: about so many are read at once.
    """

    def __init__(
        self, journal: str, find_segments: Callable[[], Sequence[str]], *, most_bytes: int = LARGE_BYTES
    ) -> None:
        self.digest: Digest | None = None
        """None where nothing says who writes."""
        self.place = Place(most_bytes=most_bytes)
        self._journal = journal
        self._find_segments = find_segments
        self.decoder = Decoder(find_segments)

    def read(self, paths: Sequence[str], *, is_final: bool = False) -> Iterator[Told]:
        """All that is new, piece by piece; see `Place.read`. Raises NewerJournal, OSError."""
        for piece in self.place.pieces(paths, is_final=is_final):
            told = self.decoder.tell(piece)
            self.add(told, told.highest_step())
            yield told

    def add(self, told: Told, highest_step: int | None) -> None:
        """Take in what follows."""
        opened = next((record for _, record in told.records if isinstance(record, Opened)), None)
        if opened is not None or self.digest is None or told.piece.is_new_segment:
            # Each segment begins with what the earlier ones add up to.
            opened = opened or self._find_opened()
            self.digest = None if opened is None else Digest(self._journal, opened)
        if self.digest is not None:
            _add(self.digest, told, highest_step)

    def _find_opened(self) -> Opened | None:
        """From other segments: it is the same in all of them."""
        if self.digest is not None:
            return self.digest.opened
        return next((found for path in self._find_segments() if (found := read_opened(path))), None)


class GrowingDigests:
    """The digests of all journals of a directory, also of those that appear later. Used by one thread."""

    def __init__(self, directory: str) -> None:
        self._directory = directory
        self._journals: dict[str, GrowingDigest] = {}
        # Also over a failure: what was read once is not read again.
        self._asked: list[tuple[Opened, Saved]] = []

    @property
    def digests(self) -> list[Digest]:
        """What the journals said up to the last `update`, the oldest first."""
        found = [each.digest for each in self._journals.values() if each.digest is not None]
        return sorted(found, key=lambda each: (each.opened.at_ns, each.journal))

    def update(self, *, is_final: bool = False) -> list[tuple[Opened, Saved]]:
        """Read what is new; returns what was asked to be saved since the last call, and by whom. Raises OSError.

        With `is_final` nobody writes any more.
        """
        for journal, paths in list_segments(self._directory).items():
            with contextlib.suppress(NewerJournal):  # the others go on
                self._read(journal, paths, is_final=is_final)
        asked, self._asked = self._asked, []
        return asked

    def _read(self, journal: str, paths: list[str], *, is_final: bool) -> None:
        growing = self._journals.get(journal)
        if growing is None:
            growing = self._journals[journal] = GrowingDigest(journal, partial(segments_of, self._directory, journal))
            growing.place.start(paths)
        for told in growing.read(paths, is_final=is_final):
            if growing.digest is not None:
                opened = growing.digest.opened
                self._asked += [(opened, record) for _, record in told.records if isinstance(record, Saved)]
        if growing.digest is None and len(paths) > 1:
            # Nothing of the newest segment can be read: the one before has told what there was.
            growing.digest = digest(journal, paths)


def digest(journal: str, paths: list[str]) -> Digest | None:
    """The newest segment that can be read tells all: each begins with what the earlier ones add up to.

    None where no segment says who wrote it. Raises NewerJournal, OSError.
    """
    for count in range(len(paths), 0, -1):
        growing = GrowingDigest(journal, lambda: paths)
        growing.place.start(paths[:count])
        for _ in growing.read(paths, is_final=True):
            pass
        if growing.digest is not None:
            return growing.digest
    return None


def read_opened(path: str) -> Opened | None:
    """Who writes the journal of this segment, from its first bytes; None where it can't be told. Raises OSError."""
    said = _first_words(path, _OPENED_BYTES)
    return next((record for record in said if isinstance(record, Opened)), None)


def read_project(path: str) -> str | None:
    """The project of which the first bytes of a segment speak; None where they don't. Raises OSError."""
    said = [record.project for record in _first_words(path, _PROJECT_BYTES) if isinstance(record, Described)]
    return said[-1] if said else None


def _first_words(path: str, count: int) -> list[Record]:
    with open(path, "rb", buffering=0) as file:
        data = file.read(count)
    try:
        return [record for _, record in tell_segment(data).records]
    except JournalError:
        return []


def _add_record(result: Digest, record: Record) -> None:
    match record:
        case Configured():
            result.config = record.config
        case Summarised():
            result.summary = record.summary
        case Totals():
            result.rows, result.last = record.rows, dict(record.last)
            result.last_step, result.last_at_ns = record.last_step, record.last_at_ns or 0
            result.highest_step = record.highest_step
            result.aggregates = dict(record.aggregates)
        case Defined():
            result.metrics = record.metrics
        case Masked():
            result.masked = record.counts
        case _ if type(record) in _NEWEST:
            setattr(result, _NEWEST[type(record)], record)
        case _ if isinstance(record, LASTING):
            result.said.append(record)


def _add(result: Digest, told: Told, highest: int | None) -> None:
    before = result.metrics
    for _, record in told.records:
        _add_record(result, record)
    add_to_aggregates(result.aggregates, told, before=before)
    result.rows += told.count
    result.unknown += told.unknown
    for row in told.last_rows():
        result.last.update(row.values)
        result.last_at_ns, result.last_step = row.at_ns, row.step
    if highest is not None and (result.highest_step is None or highest > result.highest_step):
        result.highest_step = highest
