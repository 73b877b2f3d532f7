"""Follows one run's directory into the storage ports."""

import os
from collections.abc import Sequence
from functools import partial

import msgspec

from holter.catalog.judge.verdict import as_record, judge, read_explanation
from holter.catalog.read.loaded_run import (
    PROGRAM,
    LoadedRun,
    awaited_verdicts,
    last_seen_ns,
    process_of,
    put_together,
)
from holter.catalog.read.machines import Machines
from holter.catalog.read.rules_stamp import rules_stamp
from holter.errors import NewerJournal, StorageError
from holter.journal.decoding import Told
from holter.journal.digest import Digest, GrowingDigest
from holter.journal.place import Piece
from holter.journal.rewinding import REWIND, cut_of
from holter.journal.rundir import list_segments, segments_of
from holter.model.artifact_records import WentOn
from holter.model.records import Judged
from holter.model.run_row import RunRow
from holter.model.state import RUNNING, Lateness
from holter.server.ingest.columns import events_of, highest_step, rows_of, rows_up_to, series_of
from holter.server.ingest.media import media_of
from holter.server.ingest.run_rows import Moment, Projected, by_their_clock, project_run
from holter.server.ingest.transcripts import TranscriptFeed
from holter.storage.console import Event
from holter.storage.journals import Part
from holter.storage.opening import Storage
from holter.storage.series import Rows, SeriesBatch

PIECE_BYTES, PIECES_AT_ONCE = 1 << 20, 4
"""So much of one journal is read before it is another run's turn."""
CONSOLE_EVERY_NS = 1_000_000_000
# Whoever was there when a run died says why before long; after that we judge by what there is.
JUDGED_WITHIN_NS = 2_000_000_000
VERSION_BITS = 40
"""A run has fewer bytes of journals."""
OURS = "server"
"""Stands for a journal where a verdict is our own."""


class Change(msgspec.Struct):
    """What was new in a run's directory."""

    run: str
    rows: int = 0
    lines: int = 0
    records: int = 0
    has_row: bool = False
    """Its row in the table has changed."""
    has_more: bool = False
    """There is more to read."""

    def __bool__(self) -> bool:
        return bool(self.rows or self.lines or self.records or self.has_row)


class _WentBackError(Exception):
    """An attempt went back to a step, and what was taken in may have what it abandoned."""

    def __init__(self, attempt: int, step: int) -> None:
        super().__init__(attempt, step)
        self.attempt, self.step = attempt, step


class FollowedRun:
    """One run's journals and transcripts, and how far they are in the ports. Used by one thread."""

    def __init__(self, run: str, directory: str, *, storage: Storage, machines: Machines, number: int = 0) -> None:
        self.run = run
        self.number = number
        """That of the lease under which it is digested."""
        self.touched_ns = 0
        """When something new was last read."""
        self.read_ns = 0
        """When somebody last looked for that."""
        self.trouble: dict[str, str] = {}
        """Journals that can't be read, with the reason."""
        self._directory = directory
        self._storage = storage
        self._machines = machines
        self._journals: dict[str, GrowingDigest] = {}
        self._rewinds: dict[int, int] | None = None
        self._unknown = 0
        self._heard: dict[str, tuple[tuple[int, int], int]] = {}
        """By journal, its last word and how much was said as it was heard last, and when that was."""
        self._transcripts = self._open_transcripts()
        self._console_read_ns = 0
        self._is_console_due = True
        self._put: RunRow | None = None
        self._judged: tuple[int, bool, frozenset[str], LoadedRun | None] | None = None

    def read(self, now_ns: int, *, arrived_ns: int | None = None, received: Sequence[Part] | None = None) -> Change:
        """Take in what is new; the console once a second. Raises OSError, StorageError: then it comes again.

        `arrived_ns` is when something of the run was last received, None where it is only read; `received` is all that
        is new, None where the directory has to be looked at.
        """
        change = Change(self.run)
        self.read_ns = now_ns
        is_first = not self._journals
        try:
            if received is None or not self._read_received(received, change):
                self._read_directory(change, is_received=received is not None)
        except _WentBackError as error:
            self._begin_anew(error, change, is_received=received is not None)
        self._is_console_due |= received is None or any(part.kind == "text" for part in received)
        if self._is_console_due and abs(now_ns - self._console_read_ns) >= CONSOLE_EVERY_NS:
            self._read_transcripts(change)
            self._is_console_due = change.has_more
            self._console_read_ns = 0 if change.has_more else now_ns
        if change:
            self.touched_ns = now_ns
        self._listen(now_ns if arrived_ns is None else arrived_ns, is_first=is_first)
        return change

    def hurry(self) -> None:
        """Read the console with the next call of `read`, whenever that was done last."""
        self._console_read_ns, self._is_console_due = 0, True

    def project(self, now_ns: int, lateness: Lateness) -> Projected | None:
        """The row as it is now. Raises OSError."""
        heard = {journal: heard_ns for journal, (_, heard_ns) in self._heard.items()}
        # A row of an earlier lease never replaces one of a later.
        version = self.number << VERSION_BITS | sum(each.place.offset for each in self._journals.values())
        projected = project_run(self.run, self._digests(), moment=Moment(now_ns, lateness, heard, version))
        if projected is None:
            return None
        late = projected.row.is_late(now_ns, lateness)
        if projected.row.state == RUNNING and not late:
            return projected
        elsewhere = self._seen_elsewhere(projected.row.host) if late else frozenset()
        if self._judged is None or self._judged[:3] != (version, late, elsewhere):
            theirs_ns = by_their_clock(now_ns, self._digests(), heard_ns=projected.row.heard_ns)
            if not late and awaited_verdicts(self._digests(), theirs_ns, within_ns=JUDGED_WITHIN_NS):
                return projected
            self._judged = (version, late, elsewhere, self._judge(theirs_ns, lateness))
        return msgspec.structs.replace(projected, row=with_verdict(projected.row, self._judged[3]))

    @property
    def is_settled(self) -> bool:
        """Whether it has ended, and nobody is left who would add to it."""
        loaded = self._judged[3] if self._judged is not None else None
        return loaded is not None and loaded.is_settled

    @property
    def is_nameless(self) -> bool:
        """Whether records came that can't be read, and none that says whose they are."""
        return not self._digests() and self._unknown > 0

    def looks_dead(self, now_ns: int, lateness: Lateness) -> bool:
        """Whether whoever asks now is told that it has ended, or that there is no such run."""
        return self._put is None or self._put.state != RUNNING or self._put.is_late(now_ns, lateness)

    def is_news(self, row: RunRow) -> bool:
        """Whether the row differs from the one that was kept last."""
        return row != self._put

    def has_kept(self, row: RunRow) -> None:
        """Remember which row the storage has."""
        self._put = row
        if row.rules != rules_stamp():  # it is about to be judged again
            self._judged = None

    def stamp_ns(self) -> int:
        """When anything in the directory last changed, as the file system has it. Raises OSError."""
        return stamp_of(self._directory)

    def _read_received(self, received: Sequence[Part], change: Change) -> bool:
        """Take in what is at hand; whether that was all of it."""
        for part in received:
            if part.kind != "journal" or not part.data:
                continue
            growing = self._journals.get(part.name)
            piece = growing.place.take(part.offset, part.data) if growing is not None else None
            if growing is None or piece is None:
                return False
            self._take(part.name, growing, piece, change)
            if growing.place.offset < part.offset + len(part.data):
                return False
        return True

    def _begin_anew(self, error: "_WentBackError", change: Change, *, is_received: bool) -> None:
        """The run went back to an earlier step: take all of it in again, but for what it abandoned."""
        self._journals.clear()  # first: where the storage fails, it comes to this once more
        self._storage.series.delete(self.run)
        self._rewinds = {**self._known_rewinds(), error.attempt: error.step}
        try:
            self._read_directory(change, is_received=is_received)
        except _WentBackError as other:
            self._begin_anew(other, change, is_received=is_received)

    def _known_rewinds(self) -> dict[int, int]:
        """Those that hold for what the storage has."""
        if self._rewinds is None:
            row = self._storage.runs.get(self.run)
            self._rewinds = row.rewinds if row is not None else {}
        return self._rewinds

    def _counted(self, told: Told, rows: list[Rows], digest: Digest | None) -> list[Rows]:
        """Those that were not abandoned. Raises _WentBackError."""
        known = self._known_rewinds()
        if digest is None or digest.opened.writer not in PROGRAM:
            return rows
        attempt = digest.opened.attempt
        for _, record in told.records:
            if (
                isinstance(record, WentOn)
                and record.how == REWIND
                and record.step < known.get(attempt, record.step + 1)
            ):
                raise _WentBackError(attempt, record.step)
        cut = cut_of(attempt, known)
        return rows if cut is None else rows_up_to(rows, cut)

    def _read_directory(self, change: Change, *, is_received: bool) -> None:
        for journal, paths in list_segments(self._directory).items():
            if journal in self.trouble:
                continue
            try:
                self._read_journal(journal, paths, change, is_received=is_received)
            except NewerJournal as error:
                self.trouble[journal] = str(error)

    def _read_journal(self, journal: str, paths: list[str], change: Change, *, is_received: bool) -> None:
        growing = self._journals.get(journal)
        if growing is None:
            growing = GrowingDigest(journal, partial(segments_of, self._directory, journal), most_bytes=PIECE_BYTES)
            growing.place.start(paths, self._storage.series.offset(self.run, journal))
            self._journals[journal] = growing
        for _ in range(PIECES_AT_ONCE):
            # What was received is complete: nothing of it is still being written.
            piece = growing.place.read(paths, is_final=is_received)
            if piece is None:
                return
            self._take(journal, growing, piece, change)
            if piece.is_all:
                return
        change.has_more = True

    def _take(self, journal: str, growing: GrowingDigest, piece: Piece, change: Change) -> None:
        told = growing.decoder.tell(piece)
        rows = rows_of(told)
        growing.add(told, highest_step(told, rows))
        rows = self._counted(told, rows, growing.digest)
        try:
            self._store(journal, told, series_of(rows, growing.digest.opened if growing.digest else None))
        except StorageError:
            del self._journals[journal]  # to begin again from what the storage has
            raise
        change.rows += told.count
        change.records += len(told.records)
        self._unknown += told.unknown

    def _store(self, journal: str, told: Told, rows: tuple[Rows, ...]) -> None:
        if events := events_of(journal, told):
            self._storage.console.add_events(self.run, events)
        if media := media_of(told):
            self._storage.media.add(self.run, media)
        # Last: what it has is not fed again.
        self._storage.series.append(SeriesBatch(self.run, journal, told.piece.start, told.piece.stop, rows))

    def _read_transcripts(self, change: Change) -> None:
        try:
            for batch in self._transcripts.read():
                self._storage.console.append(batch)
                change.lines += len(batch.lines) + bool(batch.rest)
                change.has_more |= batch.start != batch.stop
        except StorageError:
            self._transcripts = self._open_transcripts()
            raise

    def _open_transcripts(self) -> TranscriptFeed:
        return TranscriptFeed(self.run, self._directory, offsets=self._storage.console.transcripts(self.run))

    def _digests(self) -> list[Digest]:
        return [each.digest for each in self._journals.values() if each.digest is not None]

    def _listen(self, now_ns: int, *, is_first: bool) -> None:
        """Notice whose last word is new, by our own clock; of what was there before us the file system knows when.

        Of what others sent, it is the time at which it came, however late it is read.
        """
        digests = self._digests()
        written = self._written_by_host(digests) if is_first else {}
        for digest in digests:
            seen_ns = last_seen_ns(digest, digests)
            mark = (seen_ns, self._said_by(digest, digests))
            before = self._heard.get(digest.journal)
            if before is not None and before[0] == mark:
                continue
            self._machines.note(digest)
            first_ns = max(seen_ns, written.get(digest.opened.host, 0)) if is_first else now_ns
            self._heard[digest.journal] = (mark, min(now_ns, first_ns) if before is None else now_ns)

    def _said_by(self, digest: Digest, digests: list[Digest]) -> int:
        """How much a process and those who see it alive have said: it grows with each word."""
        pid, host = process_of(digest).pid, digest.opened.host
        seers = [each.journal for each in digests if each.opened.host == host and each.beat and pid in each.beat.pids]
        return sum(self._journals[journal].place.offset for journal in {digest.journal, *seers})

    def _seen_elsewhere(self, host: str) -> frozenset[str]:
        """The boots of a machine from which other runs sent something since."""
        digests = self._digests()
        own = [last_seen_ns(each, digests) for each in digests if each.opened.host == host]
        return self._machines.since(host, max(own, default=0))

    def _written_by_host(self, digests: list[Digest]) -> dict[str, int]:
        """When the journals of each host were last written to."""
        own = [digest for digest in digests if digest.opened.writer in (*PROGRAM, "sidecar")]  # not what people add
        hosts = {digest.journal: digest.opened.host for digest in own}
        written: dict[str, int] = {}
        for journal, paths in list_segments(self._directory).items():
            host = hosts.get(journal, "")
            written[host] = max(written.get(host, 0), os.stat(paths[-1]).st_mtime_ns)
        return written

    def _judge(self, now_ns: int, lateness: Lateness) -> LoadedRun | None:
        """All that can be told about its end, and why; None where it can't be read."""
        if self.trouble:
            return None
        loaded = put_together(self._directory, self._digests(), now_ns=now_ns, lateness=lateness)
        if loaded is None:
            return None
        words = judged_words(self._storage, self.run)
        judged = judge(loaded, self._machines, words=words)
        if judged.explanation not in map(read_explanation, words):
            keep_verdict(self._storage, judged)
        return judged


def keep_verdict(storage: Storage, judged: LoadedRun) -> None:
    """Have whoever asks read it in the index. Raises StorageError."""
    if (record := as_record(judged)) is not None:
        event = Event(record.at_ns, OURS, 0, type(record).__name__, msgspec.to_builtins(record))
        storage.console.add_events(judged.row.id, [event])


def judged_words(storage: Storage, run: str) -> list[Judged]:
    """What was made of the end of a run, by sidecars, commands and us, in the order of time. Raises StorageError."""
    return [msgspec.convert(event.fields, Judged) for event in storage.console.events(run, [Judged.__name__])]


def with_verdict(row: RunRow, loaded: LoadedRun | None) -> RunRow:
    """The row with how and why the run ended; as it was where it has not, or can't be read. Pure."""
    if loaded is None or loaded.row.state == RUNNING:
        return row
    if row.state == RUNNING:
        return msgspec.structs.replace(row, cause=loaded.row.cause)
    rules = loaded.explanation.rules if loaded.explanation else ""
    told = loaded.row.told(["state", "because", "cause", "mark"])
    return msgspec.structs.replace(row, **told, rules=rules or row.rules)


def stamp_of(directory: str) -> int:
    """When anything in a run's directory last changed. Raises OSError."""
    with os.scandir(directory) as entries:
        times = [entry.stat().st_mtime_ns for entry in entries if entry.is_file()]
    return max([os.stat(directory).st_mtime_ns, *times])
