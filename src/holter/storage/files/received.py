"""Keeps what sidecars send: journals and transcripts, as the files that they are, on disk before it is acknowledged."""

import contextlib
import errno
import fcntl
import os
import shutil
import threading
import time
from collections import OrderedDict
from collections.abc import Iterator, Sequence

from holter.errors import JournalError, StorageFull
from holter.journal.frame import HEADER_SIZE, MAGIC, Header, decode_header
from holter.journal.rundir import is_run_id, list_segments, make_private, run_directory, segment_path
from holter.storage.files.growing_files import Disk, GrowingFile
from holter.storage.files.holdings import journal_offsets, read_range, transcript_offsets
from holter.storage.journals import Answer, Grown, Held, Part, begins, header_at, offset_of, refusal

MOST_OPEN = 64
"""So many parts are on their way to the disk at once."""
MOST_KNOWN = 10_000
CLAIM = ".receiving"
_FULL = (errno.ENOSPC, errno.EDQUOT)


class ReceivedRuns:
    """The port `JournalStore` in files below `runs` of one data directory.

    A received run's directory looks like one that was recorded here, so whatever reads runs reads it. Files are open
    only while they are written: however many runs are alive, they cost no descriptors.
    """

    def __init__(self, data: str) -> None:
        self._data = data
        self._lock = threading.Lock()
        self._claim: _Claim | None = None
        self._disk: Disk | None = None
        self._journals: OrderedDict[tuple[str, str], _ReceivedJournal] = OrderedDict()

    def accept(self, journal: str, run: str, *, offset: int, data: bytes) -> int:
        """Keep a range of a journal; returns the offset it has, all of which is on disk.

        A repeat is a no-op. A range that begins behind that offset is refused: the answer is then less than `offset`.
        Where a segment was lost on its way, the sender fills the gap with zeros. Raises UsageError for names that are
        none, JournalError for what can't be a journal, StorageFull, OSError.
        """
        return offset_of(self.accept_all([Part(run=run, name=journal, offset=offset, data=data)]))

    def accept_transcript(self, run: str, name: str, *, offset: int, data: bytes) -> int:
        """The same for a text that only grows: `output.log`, `output.idx` and their pieces, `signals.log`, …"""
        return offset_of(self.accept_all([Part(run=run, kind="text", name=name, offset=offset, data=data)]))

    def accept_all(self, parts: Sequence[Part]) -> list[Answer]:
        """Keep many ranges, and bring all of them to the disk at once; an answer for each."""
        answers: list[Answer] = []
        with self._lock:
            for start in range(0, len(parts), MOST_OPEN):
                answers += self._accept_some(parts[start : start + MOST_OPEN])
        return answers

    def held(self, run: str) -> Held:
        """How much there is of a run."""
        directory = run_directory(self._data, run)
        return Held(journal_offsets(directory), transcript_offsets(directory))

    def read(self, run: str, name: str, *, start: int, stop: int) -> bytes:
        """Bytes of a journal or text."""
        return read_range(run_directory(self._data, run), name, start=start, stop=stop)

    def grown(self, since_s: float = 0.0) -> Grown:
        """All runs: whoever wants to know more looks at their directories."""
        now_s = time.time()
        with contextlib.suppress(FileNotFoundError):
            runs = [name for name in os.listdir(os.path.join(self._data, "runs")) if is_run_id(name)]
            found = {run: self.held(run) for run in runs}
            return Grown({run: each.size for run, each in found.items() if each.size}, now_s)
        return Grown({}, now_s)

    def seal(self, run: str | None = None) -> int:
        """It lies where it may stay."""
        return 0

    def delete(self, run: str) -> None:
        """Remove all of a run."""
        with self._lock:
            for place in [place for place in self._journals if place[0] == run]:
                del self._journals[place]
        with contextlib.suppress(FileNotFoundError):
            shutil.rmtree(run_directory(self._data, run))

    def close(self) -> None:
        """Idempotent."""
        with self._lock:
            for each in (self._claim, self._disk):
                if each is not None:
                    each.close()
            self._claim = self._disk = None
            self._journals.clear()

    def _accept_some(self, parts: Sequence[Part]) -> list[Answer]:
        deliveries = [_Delivery(part) for part in parts]
        good = [each for each in deliveries if each.answer is None]
        if not good:
            return [each.answer or 0 for each in deliveries]
        make_private(self._data)
        self._claim = self._claim or _Claim(self._data)
        self._disk = self._disk or Disk(self._data)
        with self._claim.holding() as was_ours:
            if not was_ours:  # another process may have added to any of them
                self._journals.clear()
            try:
                for each in good:
                    self._write(each, self._disk)
                self._disk.keep()
                for each in good:
                    self._settle(each)
            finally:
                self._disk.let_go()
        return [each.answer or 0 for each in deliveries]

    def _write(self, delivery: "_Delivery", disk: Disk) -> None:
        part, directory = delivery.part, run_directory(self._data, delivery.part.run)
        try:
            disk.make_folder(directory)
            if part.kind == "text":
                delivery.answer = _add_text(os.path.join(directory, part.name), part, delivery, disk)
                return
            place = (part.run, part.name)
            journal = self._journals.pop(place, None) or _ReceivedJournal(directory, part.name)
            delivery.answer = journal.accept(part.offset, part.data, delivery, disk)
            self._journals[place] = journal
            if len(self._journals) > MOST_KNOWN:
                self._journals.popitem(last=False)
        except (JournalError, OSError) as error:
            delivery.answer = _explained(error, directory)

    def _settle(self, delivery: "_Delivery") -> None:
        """Take back what the disk did not: also what belongs behind it."""
        failed = next((place for place, file in enumerate(delivery.files) if file.error is not None), None)
        if failed is not None:
            error = delivery.files[failed].error
            assert error is not None
            delivery.answer = _explained(error, delivery.files[failed].path)
            for file in delivery.files[failed + 1 :]:  # all of them are new
                file.undo()
        if not isinstance(delivery.answer, int):
            self._journals.pop((delivery.part.run, delivery.part.name), None)


class _Claim:
    """The right to write below a data directory, for one process after the other."""

    def __init__(self, data: str) -> None:
        self._mark = os.urandom(16)
        self._fd = os.open(os.path.join(data, CLAIM), os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)

    @contextlib.contextmanager
    def holding(self) -> Iterator[bool]:
        """Within this nobody else writes; whether nobody else did since the last time."""
        fcntl.flock(self._fd, fcntl.LOCK_EX)
        try:
            was_ours = os.pread(self._fd, len(self._mark), 0) == self._mark
            if not was_ours:
                os.pwrite(self._fd, self._mark, 0)
            yield was_ours
        finally:
            fcntl.flock(self._fd, fcntl.LOCK_UN)

    def close(self) -> None:
        os.close(self._fd)


class _Delivery:
    """A part on its way to the disk, and the files that it went to, in the order in which they were written."""

    def __init__(self, part: Part) -> None:
        self.part = part
        self.answer: Answer | None = refusal(part)
        self.files: list[GrowingFile] = []


class _ReceivedJournal:
    """What is known of the last segment of one journal. Each segment begins a file of its own."""

    def __init__(self, directory: str, journal: str) -> None:
        self._directory = directory
        self._journal = journal
        self._last = ""
        self._base = self._number = 0
        self._is_synced = False

    def accept(self, offset: int, data: bytes, delivery: _Delivery, disk: Disk, /) -> int:
        file = self._open_last(disk)
        if file is not None:
            delivery.files.append(file)
            # What a process that was killed had written, but not synced, may be there.
            file.is_doubtful |= not self._is_synced
            self._is_synced = True
        have = self._base + file.size if file is not None else 0
        if offset <= have < offset + len(data):
            have = self._add(have, data[have - offset :], delivery, disk)
        return have

    def _open_last(self, disk: Disk) -> GrowingFile | None:
        if self._last:
            with contextlib.suppress(FileNotFoundError):  # somebody deleted it
                return disk.open(self._last)
        self._last, self._number, self._base, self._is_synced = "", 0, 0, False
        for path in reversed(list_segments(self._directory).get(self._journal, [])):
            file = disk.open(path)
            try:
                header = decode_header(os.pread(file.fd, HEADER_SIZE, 0))
            except JournalError:  # its first bytes did not reach the disk: they come again
                continue
            self._last, self._number, self._base = path, header.segment, header.base
            return file
        return None

    def _add(self, have: int, data: bytes, delivery: _Delivery, disk: Disk, /) -> int:
        """Append; where another segment begins, go on in its file. Returns the offset that is there then."""
        if not delivery.files and not begins(self._journal, data):
            return have
        start = 0
        if delivery.files and (begun := _begun_header(delivery.files[-1].end(HEADER_SIZE - 1))):
            data, have, start = begun + data, have - len(begun), len(begun)
        view = memoryview(data)
        for cut, header in self._segments_in(have, data):
            if cut < start:  # it began at the end of the range before
                delivery.files[-1].cut(start - cut)
            elif cut > start:
                delivery.files[-1].append(view[start:cut])
            start = cut
            if header.segment != self._number:
                self._begin(header, delivery, disk)
        if len(data) > start:
            delivery.files[-1].append(view[start:])
        return have + len(data)

    def _segments_in(self, have: int, data: bytes) -> Iterator[tuple[int, Header]]:
        at = -1
        while (at := data.find(MAGIC, at + 1)) >= 0:
            header = self._header_at(have + at, data[at : at + HEADER_SIZE])
            if header is not None:
                yield at, header

    def _header_at(self, offset: int, data: bytes) -> Header | None:
        """The header of a segment of this journal that begins at this offset, and not a user's text that looks so."""
        header = header_at(self._journal, data, offset=offset)
        return header if header is not None and (offset == 0 or header.segment >= self._number) else None

    def _begin(self, header: Header, delivery: _Delivery, disk: Disk) -> None:
        path = segment_path(self._directory, self._journal, number=header.segment)
        file = disk.create(path)
        if file.size:  # what is there is no header
            file.clear()
        delivery.files.append(file)
        self._last, self._number, self._base = path, header.segment, header.base


def _add_text(path: str, part: Part, delivery: _Delivery, disk: Disk, /) -> int:
    file = disk.create(path)
    file.is_doubtful = True
    delivery.files.append(file)
    if part.offset <= file.size < part.offset + len(part.data):
        file.append(memoryview(part.data)[file.size - part.offset :])
    return file.size


def _explained(error: JournalError | OSError, place: str) -> JournalError | StorageFull | OSError:
    if isinstance(error, OSError) and error.errno in _FULL:
        return StorageFull(f"{place} can't be written ({error.strerror}): make room on its disk")
    return error


def _begun_header(data: bytes) -> bytes:
    """The bytes at the end that may be the beginning of a header, the rest of which is still to come."""
    at = -1
    while (at := data.find(MAGIC[:1], at + 1)) >= 0:
        if MAGIC.startswith(data[at : at + len(MAGIC)]):
            return data[at:]
    return b""
