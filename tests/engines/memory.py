"""The engine of the tests: `memory:` keeps all in dictionaries, as plainly as possible, and loses it at the end."""

import hashlib
import threading
from collections import Counter
from collections.abc import Mapping, Sequence

import msgspec
import numpy as np

from holter.console.screen import without_colours
from holter.errors import DigestMismatch, NoBlob, OffsetGap, UsageError
from holter.model.run_row import RunRow
from holter.storage.bucketing import cut_into_buckets, spans_of_points
from holter.storage.console import ConsoleBatch, ConsoleLine, ConsoleRange, Event, Gap
from holter.storage.grouping import gather, members_of
from holter.storage.matching import ascii_lower, matches, select
from holter.storage.media import MediaEntry, MediaKey, MediaQuery
from holter.storage.run_fields import flat_fields, plain_fields
from holter.storage.runs import RunPage, RunQuery, Seen
from holter.storage.series import Buckets, Line, Points, SeriesBatch, SeriesInfo, Window
from holter.storage.settings import Changes, Sets, merged
from holter.storage.tallies import GroupPage, GroupQuery

Write = tuple[int, str, int, float]
"""Time, journal, offset and value: the greatest one holds."""


class MemorySeries:
    """The port `SeriesStore`."""

    def __init__(self) -> None:
        self._series: dict[str, dict[str, dict[int, Write]]] = {}
        self._offsets: dict[tuple[str, str], int] = {}
        self._lock = threading.Lock()

    def append(self, batch: SeriesBatch) -> None:
        """Add the rows of a range."""
        with self._lock:
            have = self._offsets.get((batch.run, batch.journal), 0)
            if batch.start > have:
                raise OffsetGap(f"journal {batch.journal} has come to {have}, not {batch.start}", have)
            series = self._series.setdefault(batch.run, {})
            for rows in batch.rows:
                is_new = rows.offsets >= have
                places = [column[is_new].tolist() for column in (rows.steps, rows.at_ns, rows.offsets)]
                for key, values in zip(rows.keys, rows.values[:, is_new].tolist(), strict=True):
                    held = series.setdefault(key, {}) if values else {}
                    for step, at_ns, offset, value in zip(*places, values, strict=True):
                        write = (at_ns, batch.journal, offset, value)
                        if step not in held or held[step][:3] <= write[:3]:
                            held[step] = write
            self._offsets[batch.run, batch.journal] = max(have, batch.stop)

    def offset(self, run: str, journal: str) -> int:
        """From where on the journal must be appended again."""
        return self._offsets.get((run, journal), 0)

    def list_series(self, run: str) -> list[SeriesInfo]:
        """All series of a run, by key."""
        with self._lock:
            return [
                SeriesInfo(key, len(steps), min(steps), max(steps))
                for key, steps in sorted(self._series.get(run, {}).items())
            ]

    def count_keys(self, runs: Sequence[str]) -> Mapping[str, int]:
        """Every key, and how many of the runs have it."""
        with self._lock:
            return Counter(key for run in dict.fromkeys(runs) for key in self._series.get(run, {}))

    def points(
        self, line: Line, *, first: int | None = None, last: int | None = None, most: int | None = None
    ) -> Points:
        """The points of a range of steps."""
        with self._lock:
            series = sorted(self._series.get(line.run, {}).get(line.key, {}).items())
        kept = [
            (step, write[0], write[3])
            for step, write in series
            if (first is None or step >= first) and (last is None or step <= last)
        ][:most]
        steps, times, values = zip(*kept, strict=True) if kept else ((), (), ())
        return Points(np.array(steps, np.int64), np.array(times, np.int64), np.array(values, np.float64))

    def buckets(self, lines: Sequence[Line], window: Window) -> list[Buckets]:
        """At most so many buckets for each line."""
        return [self._buckets(line, window) for line in lines]

    def sync(self, run: str | None = None) -> None:
        """Do nothing: everybody who can see it sees it."""

    def let_go(self, run: str) -> None:
        """Do nothing: there is one process."""

    def delete(self, run: str) -> None:
        """Forget the run."""
        with self._lock:
            self._series.pop(run, None)
            self._offsets = {place: offset for place, offset in self._offsets.items() if place[0] != run}

    def close(self) -> None:
        """Do nothing."""

    def _buckets(self, line: Line, window: Window) -> Buckets:
        found = self.points(line)
        places, values = (
            (found.steps, found.values) if window.axis == "step" else (found.at_ns - line.origin, found.values)
        )
        order = np.argsort(places, kind="stable")
        places, values = places[order], values[order]
        low = 0 if window.first is None else np.searchsorted(places, window.first, "left")
        high = len(places) if window.last is None else np.searchsorted(places, window.last, "right")
        spans = spans_of_points(places[low:high], values[low:high])
        return cut_into_buckets(spans, window.buckets, first=window.first, last=window.last)


class MemoryRuns:
    """The port `RunStore`."""

    def __init__(self) -> None:
        self._rows: dict[str, RunRow] = {}
        self._lock = threading.Lock()

    def put(self, rows: Sequence[RunRow]) -> None:
        """Keep these rows."""
        with self._lock:
            for row in rows:
                if row.id not in self._rows or row.version >= self._rows[row.id].version:
                    self._rows[row.id] = msgspec.convert(msgspec.to_builtins(row), RunRow)

    def get(self, run: str) -> RunRow | None:
        """The row of a run."""
        return self._rows.get(run)

    def query(self, query: RunQuery) -> RunPage:
        """A page of runs."""
        with self._lock:
            rows = list(self._rows.values())
        return select([row.at(query.now_ns, query.lateness) for row in rows], query)

    def groups(self, query: GroupQuery) -> GroupPage:
        """How runs fall into groups."""
        with self._lock:
            rows = [row.at(query.now_ns, query.lateness) for row in self._rows.values()]
        named = [plain_fields(row) | flat_fields(row) for row in rows]
        fitting = [fields for fields in named if query.where is None or matches(query.where, fields)]
        return gather(members_of(fitting, query), query)

    def fields(self, project: str | None = None) -> list[str]:
        """Every name that some run has a value under."""
        rows = [row for row in self._rows.values() if project in (None, row.project)]
        return sorted({name for row in rows for name in flat_fields(row)})

    def projects(self) -> Mapping[str, int]:
        """How many runs each project has."""
        names = [row.project for row in self._rows.values()]
        return {name: names.count(name) for name in names}

    def seen(self) -> Mapping[str, Seen]:
        """When each run was seen last."""
        return {run: Seen(row.seen_ns, row.rules) for run, row in self._rows.items()}

    def delete(self, run: str) -> None:
        """Forget the run."""
        self._rows.pop(run, None)

    def close(self) -> None:
        """Do nothing."""


class _Transcript(msgspec.Struct):
    offset: int = 0
    rest: str = ""
    lines: list[ConsoleLine] = []
    count: int = 0
    gaps: list[Gap] = []


class MemoryConsole:
    """The port `ConsoleStore`."""

    def __init__(self) -> None:
        self._transcripts: dict[str, dict[str, _Transcript]] = {}
        self._events: dict[str, list[Event]] = {}
        self._lock = threading.Lock()

    def append(self, batch: ConsoleBatch) -> None:
        """Add lines."""
        with self._lock:
            kept = self._transcripts.setdefault(batch.run, {}).setdefault(batch.transcript, _Transcript())
            if batch.stop < kept.offset or (batch.stop == kept.offset and batch.start < kept.offset):
                return
            if batch.start != kept.offset:
                text = f"the console of {batch.run} has come to {kept.offset}, not {batch.start}"
                raise OffsetGap(text, kept.offset)
            first = max(kept.count, batch.first or 0)
            if batch.missed:
                kept.gaps.append(Gap(kept.count, first - kept.count, batch.missed))
            kept.lines += [ConsoleLine(number, *line) for number, line in enumerate(batch.lines, first)]
            kept.offset, kept.rest, kept.count = batch.stop, batch.rest, first + len(batch.lines)

    def transcripts(self, run: str) -> dict[str, int]:
        """The byte offset of each transcript."""
        return {name: each.offset for name, each in self._transcripts.get(run, {}).items()}

    def lines(self, run: str, transcript: str, *, wanted: ConsoleRange) -> list[ConsoleLine]:
        """Lines in order."""
        with self._lock:
            kept = self._transcripts.get(run, {}).get(transcript, _Transcript())
            last_ns = kept.lines[-1].at_ns if kept.lines else 0
            lines = kept.lines + ([ConsoleLine(kept.count, last_ns, 3, kept.rest)] if kept.rest else [])
        found = [line for line in lines if ascii_lower(wanted.text) in ascii_lower(without_colours(line.text))]
        if wanted.count <= 0:
            return []
        if wanted.start is None:
            return found[-wanted.count :]
        return [line for line in found if line.number >= wanted.start][: wanted.count]

    def gaps(self, run: str, transcript: str) -> list[Gap]:
        """What was not kept."""
        return list(self._transcripts.get(run, {}).get(transcript, _Transcript()).gaps)

    def add_events(self, run: str, events: Sequence[Event]) -> None:
        """Keep events."""
        with self._lock:
            kept = self._events.setdefault(run, [])
            said = {(each.journal, each.kind, repr(each.fields)) for each in kept}
            for event in events:
                if (event.journal, event.kind, repr(event.fields)) not in said:
                    said.add((event.journal, event.kind, repr(event.fields)))
                    kept.append(event)
            kept.sort(key=lambda each: (each.at_ns, each.journal, each.offset))

    def events(self, run: str, kinds: Sequence[str] = ()) -> list[Event]:
        """All events of a run, or those of some kinds."""
        with self._lock:
            return [event for event in self._events.get(run, []) if not kinds or event.kind in kinds]

    def delete(self, run: str) -> None:
        """Forget the run."""
        with self._lock:
            self._transcripts.pop(run, None)
            self._events.pop(run, None)

    def close(self) -> None:
        """Do nothing."""


class MemoryBlobs:
    """The port `BlobStore`."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._staged: dict[str, bytes] = {}
        self._sealed: dict[str, bytes] = {}
        self._names: dict[str, dict[str, str]] = {}

    def stage(self, digest: str, data: bytes, *, offset: int) -> int:
        """Add bytes of a blob that is being received."""
        if len(digest) != 64 or set(digest) - set("0123456789abcdef"):
            raise UsageError(f"a blob's name is its SHA-256 in 64 lower-case hexadecimal digits, not {digest[:80]!r}")
        with self._lock:
            if digest in self._sealed:
                return len(self._sealed[digest])
            have = self._staged.get(digest, b"")
            if offset <= len(have) < offset + len(data):
                self._staged[digest] = have + data[len(have) - offset :]
            return len(self._staged.get(digest, b""))

    def seal(self, digest: str) -> None:
        """Make the blob readable."""
        with self._lock:
            if digest in self._sealed:
                return
            data = self._staged.pop(digest, None)
            if data is None or hashlib.sha256(data).hexdigest() != digest:
                raise DigestMismatch(f"what was staged for blob {digest} is something else: send it again")
            self._sealed[digest] = data

    def size(self, digest: str) -> int | None:
        """The size of a sealed blob."""
        return len(self._sealed[digest]) if digest in self._sealed else None

    def read(self, digest: str, *, start: int = 0, count: int | None = None) -> bytes:
        """Bytes of a sealed blob."""
        if digest not in self._sealed:
            raise NoBlob(f"there is no blob {digest}")
        return self._sealed[digest][start : None if count is None else start + count]

    def attach(self, run: str, names: Mapping[str, str]) -> None:
        """Give blobs names in a run."""
        with self._lock:
            missing = [digest for digest in names.values() if digest not in self._sealed]
            if missing:
                raise NoBlob(f"there is no blob {missing[0]}: stage and seal it first")
            self._names.setdefault(run, {}).update(names)

    def attached(self, run: str) -> dict[str, str]:
        """The digests of a run's blobs by name."""
        return dict(sorted(self._names.get(run, {}).items()))

    def delete(self, run: str) -> None:
        """Forget the run's names, and the blobs that nobody else names."""
        with self._lock:
            dropped = set(self._names.pop(run, {}).values())
            for digest in dropped - {digest for names in self._names.values() for digest in names.values()}:
                del self._sealed[digest]

    def close(self) -> None:
        """Do nothing."""


class MemorySettings:
    """The port `SettingStore`."""

    def __init__(self) -> None:
        self._sets: dict[tuple[str, str], Sets] = {}
        self._lock = threading.Lock()

    def get(self, project: str, owner: str) -> Sets:
        """All sets of an owner in a project."""
        return merged(self._sets.get((project, owner), {}), {})

    def owners(self) -> list[tuple[str, str]]:
        """All who have set something."""
        return sorted(self._sets)

    def merge(self, project: str, owner: str, *, changes: Changes) -> Sets:
        """Change some settings."""
        with self._lock:
            self._sets[project, owner] = merged(self._sets.get((project, owner), {}), changes)
        return self.get(project, owner)

    def close(self) -> None:
        """Do nothing."""


class MemoryMedia:
    """The port `MediaStore`."""

    def __init__(self) -> None:
        self._kept: dict[str, dict[tuple[str, int], MediaEntry]] = {}
        self._lock = threading.Lock()

    def add(self, run: str, entries: Sequence[MediaEntry]) -> None:
        """Keep entries."""
        with self._lock:
            kept = self._kept.setdefault(run, {})
            for each in entries:
                before = kept.get((each.key, each.step))
                if before is None or before.logged_ns <= each.logged_ns:
                    kept[each.key, each.step] = each

    def keys(self, run: str) -> list[MediaKey]:
        """All keys of a run."""
        found = []
        for key in sorted({key for key, _ in self._kept.get(run, {})}):
            steps = self.steps(run, key)
            kind = self._kept[run][key, steps[-1]].type
            found.append(MediaKey(key=key, type=kind, steps=len(steps), first=steps[0], last=steps[-1]))
        return found

    def steps(self, run: str, key: str) -> list[int]:
        """The steps that have an entry."""
        return sorted(step for name, step in self._kept.get(run, {}) if name == key)

    def select(self, run: str, query: MediaQuery) -> list[MediaEntry]:
        """Entries by step."""
        steps = [
            step
            for step in self.steps(run, query.key)
            if (query.first is None or step >= query.first) and (query.last is None or step <= query.last)
        ]
        chosen = steps[max(0, len(steps) - query.most) :] if query.newest else steps[: query.most]
        return [self._kept[run][query.key, step] for step in chosen]

    def delete(self, run: str) -> None:
        """Forget the run."""
        self._kept.pop(run, None)

    def close(self) -> None:
        """Do nothing."""


def open_media(url: str) -> MemoryMedia:
    """The media."""
    return MemoryMedia()


def open_runs(url: str) -> MemoryRuns:
    """The runs."""
    return MemoryRuns()


def open_series(url: str) -> MemorySeries:
    """The series."""
    return MemorySeries()


def open_console(url: str) -> MemoryConsole:
    """The console and the events."""
    return MemoryConsole()


def open_blobs(url: str, names: object) -> MemoryBlobs:
    """The blobs."""
    return MemoryBlobs()


def open_settings(url: str) -> MemorySettings:
    """The settings."""
    return MemorySettings()


def discard_index(url: str) -> None:
    """Do nothing: there is nothing left when it is closed."""
