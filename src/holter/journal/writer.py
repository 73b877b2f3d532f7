"""Appends framed records to a journal, segment after segment."""

import contextlib
import os
import threading
import zlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from functools import partial

from holter.errors import NotKept, NotSynced
from holter.journal.allowance import SMALLEST_SIZE, allow
from holter.journal.frame import LARGEST_RECORD, OVERHEAD, RESIDUE, TAIL, Header, encode_header, encode_record, sealed
from holter.journal.lasting import Lasting
from holter.journal.rundir import make_private, segment_path, used_bytes
from holter.journal.segment import Segment, begin_segment
from holter.journal.unsynced import Unsynced
from holter.model.clock import Clock
from holter.model.masking import Masking
from holter.model.record import Record
from holter.model.records import LASTING, LATEST, Lost, Masked

_crc32 = zlib.crc32  # a global is found faster than an attribute

RETRY_NS = 1_000_000_000


class JournalWriter:
    """Owns one journal; makes its first file when the first record comes.

    Args:
        directory: the run's directory; made when it is missing, also when it was deleted meanwhile.
        prologue: the bodies with which every segment begins, so that it can be read alone: who writes, and what the
            earlier segments add up to. Lasting records (see `record`) follow by themselves.
        limit_bytes: what the run's directory may take; none where it is negative. Rows leave the last of it to records:
            a run that reached its limit must still be able to say how it ended.
        masking: hides secrets in records; how many, the journal says by itself.

    Thread-safe through `lock`, which a caller may hold over several calls. Not fork-safe: a forked child
    must drop the object and make its own.
    """

    def __init__(
        self,
        directory: str,
        prologue: Callable[[], Iterable[bytes]],
        *,
        clock: Clock,
        limit_bytes: int = -1,
        masking: Masking | None = None,
    ) -> None:
        self.id = os.urandom(16)
        self.directory = directory
        self.lock = threading.RLock()
        self.lost = 0
        self.masking = masking or Masking()
        self._prologue = prologue
        self._clock = clock
        self.limit_bytes = limit_bytes
        self._segment: Segment | None = None
        self._put: Callable[[int, bytes], None] = _no_segment
        self._number = 0
        self._base = self._end = self._room = 0
        self._busy = self._closed = self._catching_up = False
        self._is_sentence = self._is_reserve = False
        self._deferred: deque[Callable[[], None]] = deque()
        self._latest: dict[type[Record], bytes] = {}
        self._lasting = Lasting()
        self._unsynced = Unsynced()
        self._lost_since_ns = self._retry_at_ns = 0
        self.because = ""

    def append(self, body: bytes) -> None:
        """Keep a framed body; once this returns it survives the death of the process.

        A call from inside another call of the same thread (signal handler, `__del__`) is kept when the outer one
        returns. Raises NotKept, and counts it, where the disk does not take it.
        """
        with self.lock:
            self.append_held(body)

    def append_held(self, body: bytes) -> None:
        """The same for a caller who holds `lock`."""
        if self._busy:
            self._deferred.append(partial(self.append_held, body))
            return
        self._busy = True
        try:
            start = self._end
            end = start + len(body) + 4
            if end > self._room:
                start = self._make_room(end - start)
                end = start + len(body) + 4
            # The checksum covers the whole frame, so a reader needs no order between these stores, not even on
            # aarch64: a frame that is not all there yet does not verify.
            self._put(start, body + _crc32(body, RESIDUE).to_bytes(4, "little"))
            self._end = end
        except (OSError, NotKept) as error:
            raise self._count_lost(error) from error
        finally:
            self._busy = False
            if self._deferred:
                self._catch_up()

    def open(self) -> None:
        """Make the first segment now instead of with the first record. Raises NotKept."""
        with self.lock:
            if self._segment is None and not self._busy:
                try:
                    with self._undisturbed():
                        self._make_room(0)
                except (OSError, NotKept) as error:
                    raise self._explain(error) from error

    def record(self, record: Record) -> None:
        """Append a sentence without the secrets in it; the promises of `append` hold."""
        record = self.masking.record(record)
        body = encode_record(record)
        with self.lock:
            self._is_sentence = True
            try:
                self.append_held(body)
            finally:
                self._is_sentence = False
                # Also what was not kept now stands at the start of the next segment, unless it is too large for any.
                self._remember(record, body)
        self.say_masked()

    def say_masked(self) -> None:
        """Keep how many secrets were hidden, where these are more than it said last. Raises NotKept."""
        if self.masking.has_news:
            self.masking.has_news = False
            self.record(Masked(at_ns=self._clock.now_ns(), counts=dict(self.masking.counts)))

    def sync(self) -> None:
        """Wait until everything appended so far would survive the death of the machine.

        Raises NotSynced where the disk fails; the next call tries all of it again.
        """
        with self._unsynced.lock:
            try:
                with self.lock:
                    self._leave_failed()
                    path = self._path(self._number)
                    fd = os.dup(self._segment.fd) if self._segment else -1
                try:
                    self._unsynced.sync(path, fd)
                finally:
                    if fd >= 0:
                        os.close(fd)
            except (OSError, NotKept) as error:
                raise NotSynced(
                    f"flush() failed: {self._explain(error)}: what was logged survives the end of the program, but "
                    "might not survive that of the machine; the next flush() tries again"
                ) from error

    def look_after(self) -> bool:
        """Lay down the open segment again if somebody deleted it; cheap, for once a second. True where all is well."""
        with self.lock:
            segment = self._segment
            if segment is None or self._busy:
                return True
            try:
                if not os.fstat(segment.fd).st_nlink:
                    with self._undisturbed():
                        self._lay_down_again(segment)
            except OSError:
                return False
            return True

    def close(self) -> None:
        """Give back the reserved space. Idempotent; later appends raise NotKept.

        A call from inside an append (a signal handler that ends the run) takes effect when that one returns.
        """
        with self.lock:
            if self._busy:
                self._deferred.append(self.close)
                return
            self._closed, self._room = True, 0
            if self._segment:
                self._segment.close(self._end)
                self._segment, self._put = None, _no_segment

    def reopen(self) -> None:
        """After `close`: the next record begins another segment."""
        with self.lock:
            self._closed = False

    @contextlib.contextmanager
    def _undisturbed(self) -> Iterator[None]:
        """What comes from inside the block (signal handler, `__del__`) is done at its end."""
        self._busy = True
        try:
            yield
        finally:
            self._busy = False
            self._catch_up()

    def _catch_up(self) -> None:
        if self._catching_up:
            return
        self._catching_up = True
        try:
            while self._deferred:
                # Its own caller has long gone on; what the disk does not take is counted.
                with contextlib.suppress(NotKept):
                    self._deferred[0]()
                self._deferred.popleft()
        finally:
            self._catching_up = False

    def _lay_down_again(self, segment: Segment) -> None:
        make_private(self.directory)
        again = begin_segment(self._path(self._number), segment.size, start=os.pread(segment.fd, self._end, 0))
        self._segment, self._put = again, again.put
        segment.close(self._end)

    def _leave_failed(self) -> None:
        """Close a segment of which the disk has failed to take something: then it can be laid down anew."""
        if self._segment and not self._busy and self._unsynced.has_failed(self._path(self._number)):
            with self._undisturbed():
                lost = self._lost_record()
                self._open_next(lost, 0)
                self._have_said(lost)

    def _remember(self, record: Record, body: bytes) -> None:
        if len(body) + TAIL.size > LARGEST_RECORD:
            return
        if isinstance(record, LATEST):
            self._latest[type(record)] = body
        elif isinstance(record, LASTING):
            self._lasting.add(body)

    def _make_room(self, needed: int) -> int:
        """Say what was lost meanwhile; open the next segment where this one is full. Returns where the record goes."""
        if self._closed:
            raise NotKept("the journal is closed")
        if needed > LARGEST_RECORD:
            raise NotKept(
                f"a record of {needed >> 20} MiB is larger than the {LARGEST_RECORD >> 20} MiB a journal takes"
            )
        lost = self._lost_record()
        may_use = self._is_sentence or not self._is_reserve
        if self._segment is not None and may_use and self._end + len(lost) + needed <= self._segment.size:
            self._put(self._end, lost)
            self._end, self._room = self._end + len(lost), 0 if self._is_reserve else self._segment.size
        else:
            self._open_next(lost, needed)
        self._have_said(lost)
        return self._end

    def _lost_record(self) -> bytes:
        if not self.lost:
            return b""
        now_ns = self._clock.now_ns()
        record = Lost(at_ns=now_ns, records=self.lost, since_ns=self._lost_since_ns, because=self.because)
        return sealed(encode_record(record))

    def _have_said(self, lost: bytes) -> None:
        if lost:
            self._lasting.add(lost[: -TAIL.size])
            self.lost = 0

    def _open_next(self, lost: bytes, needed: int) -> None:
        now_ns = self._clock.now_ns()
        if now_ns < self._retry_at_ns and not self._is_sentence:
            raise NotKept(self.because)
        header = Header(self.id, self._number + 1, self._base + self._end, now_ns)
        bodies = [*self._prologue(), *self._latest.values(), *self._lasting.bodies()]
        start = encode_header(header) + b"".join(map(sealed, bodies)) + lost
        try:
            segment = self._create(header.segment, start, needed=len(start) + needed + OVERHEAD)
        except (OSError, NotKept):
            self._retry_at_ns = now_ns + RETRY_NS
            raise
        old, end, path = self._segment, self._end, self._path(self._number)
        size = len(start)
        # One statement without a call: an exception from a signal handler comes before or after all of it.
        self._segment, self._put, self._number, self._base, self._end, self._room, self._retry_at_ns = (
            segment,
            segment.put,
            header.segment,
            header.base,
            size,
            0 if self._is_reserve else segment.size,
            0,
        )
        if old:
            self._unsynced.add(path)
            old.close(end)

    def _create(self, number: int, start: bytes, *, needed: int) -> Segment:
        make_private(self.directory)
        allowance = allow(
            number,
            needed,
            # A long beginning must not leave room for a few records only: it is repeated in each segment.
            wish=4 * len(start),
            left_bytes=self._left_bytes(),
            limit_bytes=self.limit_bytes,
            for_record=self._is_sentence,
        )
        try:
            segment = begin_segment(self._path(number), allowance.size, start=start)
        except OSError:
            # A nearly full disk or quota may still take a small one.
            segment = begin_segment(self._path(number), max(needed, SMALLEST_SIZE), start=start)
        self._is_reserve = allowance.is_reserve
        return segment

    def _path(self, number: int) -> str:
        return segment_path(self.directory, self.id.hex(), number=number)

    def _left_bytes(self) -> int | None:
        return self.limit_bytes - used_bytes(self.directory) if self.limit_bytes >= 0 else None

    def _count_lost(self, error: OSError | NotKept) -> NotKept:
        if not self.lost:
            self._lost_since_ns = self._clock.now_ns()
        self.lost += 1
        # The next record that can be kept goes through `_make_room`, which says what was lost before it.
        self._room = 0
        return self._explain(error)

    def _explain(self, error: OSError | NotKept) -> NotKept:
        self.because = str(error) if isinstance(error, NotKept) else f"{error.strerror} ({self.directory})"
        return NotKept(self.because)


def _no_segment(at: int, data: bytes) -> None:
    raise NotKept("the journal has no open segment")
