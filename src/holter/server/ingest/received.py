"""Keeps what sidecars send: journals and transcripts, as the files that they are, on disk before it is acknowledged."""

import contextlib
import errno
import fcntl
import os
import re
import threading
from collections import OrderedDict
from collections.abc import Iterator

from holter.errors import JournalError, StorageFull, UsageError
from holter.journal.frame import HEADER_SIZE, MAGIC, Header, decode_header
from holter.journal.rundir import (
    is_journal_id,
    is_run_id,
    list_segments,
    make_private,
    run_directory,
    segment_path,
    sync_directory,
)
from holter.server.descriptors import share_out

# The last three are no console, but texts that only grow as well; verdicts need the first two of these.
_TRANSCRIPT = re.compile(
    r"output(-[1-9]\d*)?(\.\d{12,})?\.(log|idx)|signals(-\d+)?\.log|faults(-\d+)?\.log|debug(-internal)?\.log"
)
_FULL = (errno.ENOSPC, errno.EDQUOT)


class ReceivedRuns:
    """Writes received ranges below `runs` of one data directory. Thread-safe; other processes may do the same.

    A received run's directory looks like one that was recorded here, so whatever reads runs reads it.
    """

    def __init__(self, data: str) -> None:
        self._data = data
        self._lock = threading.Lock()
        self._open: OrderedDict[str, _ReceivedJournal] = OrderedDict()
        self._most_open = share_out().journals

    def accept(self, journal: str, run: str, *, offset: int, data: bytes) -> int:
        """Keep a range of a journal; returns the offset it has, all of which is on disk.

        A repeat is a no-op. A range that begins behind that offset is refused: the answer is then less than `offset`.
        It may also be some bytes less than what was sent: the sender goes on from there, whatever the answer is.
        Where a segment was lost on its way, the sender fills the gap with zeros. Raises UsageError for names that are
        none, JournalError for what can't be a journal, StorageFull.
        """
        if not is_journal_id(journal):
            raise UsageError(f"a journal is named by 32 lower-case hexadecimal digits, not {journal[:80]!r}")
        directory = self._directory(run)
        with self._lock:
            place = os.path.join(directory, journal)
            kept = self._open.pop(place, None) or _ReceivedJournal(directory, journal)
            self._open[place] = kept
            dropped = self._open.popitem(last=False)[1] if len(self._open) > self._most_open else None
        if dropped is not None:
            dropped.close()
        try:
            with _full_disk_told(directory):
                return kept.accept(offset, data)
        finally:
            if self._open.get(place) is not kept:  # it had to go meanwhile, and we have opened it again
                kept.close()

    def accept_transcript(self, run: str, name: str, *, offset: int, data: bytes) -> int:
        """The same for a text that only grows: `output.log`, `output.idx` and their pieces, `signals.log`, …"""
        if not is_transcript_file(name):
            raise UsageError(f"{name[:80]!r} is not the name of a transcript such as output.log or output.idx")
        directory = self._directory(run)
        with _full_disk_told(directory):
            _make_durable(directory)
            path = os.path.join(directory, name)
            is_new = not os.path.exists(path)
            fd = os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
            try:
                fcntl.flock(fd, fcntl.LOCK_EX)  # until it is closed
                have = os.fstat(fd).st_size
                if offset <= have < offset + len(data):
                    _append(fd, memoryview(data)[have - offset :], have)
                    have = offset + len(data)
                os.fdatasync(fd)
                if is_new:
                    sync_directory(directory)
                return have
            finally:
                os.close(fd)

    def forget(self, run: str) -> None:
        """Close what is open of a run that was removed: until then its bytes stay on the disk."""
        directory = self._directory(run)
        with self._lock:
            dropped = [self._open.pop(place) for place in list(self._open) if place.startswith(directory + os.sep)]
        for journal in dropped:
            journal.close()

    def close(self) -> None:
        """Idempotent."""
        with self._lock:
            while self._open:
                self._open.popitem()[1].close()

    def _directory(self, run: str) -> str:
        if not is_run_id(run):
            raise UsageError(
                f"the run id {run[:80]!r} can't name a directory: use 1 to 128 of A-Z a-z 0-9 . _ -, "
                "a letter or digit first"
            )
        return run_directory(self._data, run)


class _ReceivedJournal:
    """The last segment of one journal, open. Each segment begins a file of its own."""

    def __init__(self, directory: str, journal: str) -> None:
        self._directory = directory
        self._journal = journal
        self._lock = threading.Lock()
        self._folder = self._fd = -1
        self._base = self._number = 0
        self._is_synced = False

    def accept(self, offset: int, data: bytes) -> int:
        with self._lock:
            _make_durable(self._directory)
            # Open only as long as it is locked: a server has many runs, and not so many descriptors.
            self._folder = os.open(self._directory, os.O_RDONLY | os.O_CLOEXEC)
            try:
                # Of the whole run's directory, against other processes that receive the same run.
                fcntl.flock(self._folder, fcntl.LOCK_EX)
                self._find_last()
                have = self._base + os.fstat(self._fd).st_size if self._fd >= 0 else 0
                if offset <= have < offset + len(data):
                    have = self._add(have, data[have - offset :])
                if not self._is_synced and self._fd >= 0:
                    os.fdatasync(self._fd)
                    self._is_synced = True
                return have
            finally:
                os.close(self._folder)

    def close(self) -> None:
        with self._lock:
            self._let_go()

    def _find_last(self) -> None:
        """Open the segment that is the last one now: another process may have begun one."""
        if self._fd >= 0 and os.fstat(self._fd).st_nlink:
            following = segment_path(self._directory, self._journal, number=self._number + 1)
            if not os.path.exists(following):
                return
        self._let_go()
        for path in reversed(list_segments(self._directory).get(self._journal, [])):
            fd = os.open(path, os.O_RDWR | os.O_CLOEXEC)
            try:
                header = decode_header(os.pread(fd, HEADER_SIZE, 0))
            except JournalError:  # its first bytes did not reach the disk: they come again
                os.close(fd)
                continue
            self._hold(fd, header)
            return

    def _add(self, have: int, data: bytes) -> int:
        """Append; where another segment begins, go on in its file. Returns the offset that is there then."""
        if self._fd < 0 and self._header_at(0, data) is None:
            if len(data) < HEADER_SIZE and data[: len(MAGIC)] == MAGIC[: len(data)]:
                return have
            raise JournalError(f"journal {self._journal} does not begin with the header of its first segment")
        start = last = 0
        for cut, header in self._segments_in(have, data):
            self._put(have + start, data[start:cut])
            start, last = cut, cut + HEADER_SIZE - 1
            if header.segment != self._number:
                self._begin(header)
        # A header that is cut off at the end of the range comes again as a whole; one that is here stays whole.
        stop = len(data) - _cut_off(data, last)
        self._put(have + start, data[start:stop])
        return have + stop

    def _segments_in(self, have: int, data: bytes) -> Iterator[tuple[int, Header]]:
        at = -1
        while (at := data.find(MAGIC, at + 1)) >= 0:
            header = self._header_at(have + at, data[at : at + HEADER_SIZE])
            if header is not None:
                yield at, header

    def _header_at(self, offset: int, data: bytes) -> Header | None:
        """The header of a segment of this journal that begins at this offset, and not a user's text that looks so."""
        try:
            header = decode_header(data[:HEADER_SIZE])
        except JournalError:
            return None
        is_ours = header.journal.hex() == self._journal and header.base == offset and 0 < header.segment < 1_000_000
        return header if is_ours and (offset == 0 or header.segment >= self._number) else None

    def _put(self, offset: int, data: bytes) -> None:
        if data:
            self._is_synced = False
            _append(self._fd, memoryview(data), offset - self._base)

    def _begin(self, header: Header) -> None:
        if self._fd >= 0:
            os.fdatasync(self._fd)
        path = segment_path(self._directory, self._journal, number=header.segment)
        fd = os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        self._let_go()
        self._hold(fd, header)
        os.fsync(self._folder)

    def _hold(self, fd: int, header: Header) -> None:
        # What a process that was killed had written, but not synced, may be there.
        self._fd, self._base, self._number, self._is_synced = fd, header.base, header.segment, False

    def _let_go(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
        self._fd, self._number, self._base = -1, 0, 0


def is_transcript_file(name: str) -> bool:
    """Whether it can name a file of the console, and nothing else."""
    return _TRANSCRIPT.fullmatch(name) is not None


def _make_durable(directory: str) -> None:
    """Create a run's directory so that the death of the machine does not undo it. Raises OSError."""
    if not os.path.isdir(directory):
        make_private(directory)
        sync_directory(os.path.dirname(directory))


def _cut_off(data: bytes, after: int) -> int:
    """How many bytes at the end may be the beginning of a header that comes after this place."""
    at = data.find(MAGIC[:1], max(after + 1, len(data) - HEADER_SIZE + 1))
    while at >= 0:
        rest = data[at:]
        if rest[: len(MAGIC)] == MAGIC[: len(rest)]:
            return len(rest)
        at = data.find(MAGIC[:1], at + 1)
    return 0


def _append(fd: int, data: memoryview, at: int, /) -> None:
    """Write at the end of a file, all or nothing. Raises OSError."""
    try:
        done = 0
        while done < len(data):
            done += os.pwrite(fd, data[done:], at + done)
    except OSError:
        os.ftruncate(fd, at)
        raise


@contextlib.contextmanager
def _full_disk_told(place: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno in _FULL:
            raise StorageFull(f"{place} can't be written ({error.strerror}): make room on its disk") from error
        raise
