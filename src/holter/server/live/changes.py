"""The newest change of each kind to each run, in order: what streams send, and what lets them go on after a break."""

import asyncio
import threading
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Mapping

import msgspec

from holter.storage.changes import Change

MOST_CHANGES = 20_000
KEEP_ALIVE_S = 15.0
# Of many changes in a row, those of so long are sent together: each message costs more than what is in it.
GATHERS_S = 0.1
RESET, HELLO = "reset", "hello"
Shown = Callable[[str, str], bool]
"""Whether somebody may know of a run of a project."""


class Wanted(msgspec.Struct, frozen=True):
    """Which changes somebody wants; empty for all."""

    project: str | None = None
    runs: Collection[str] = ()
    user: str = ""
    """Who wants them."""

    def has(self, change: Change) -> bool:
        """Whether this is one of them."""
        if self.project is not None and change.project != self.project:
            return False
        if change.user not in (None, self.user):
            return False
        return not self.runs or change.run in self.runs


class Changes:
    """Holds no queue for anybody: a reader who is slow gets the newest state of what it missed, and memory is bounded.

    `note` may be called by any thread, `follow` on the event loop. Sequence numbers grow, also over a restart.
    """

    def __init__(self, first_seq: int) -> None:
        self.seq = self.first_seq = first_seq
        self._lock = threading.Lock()
        self._newest: OrderedDict[tuple[str, str], tuple[int, Change]] = OrderedDict()
        """By kind and what it is about, with its place in the order in which they came."""
        self._place = 0
        self._forgotten = (0, first_seq)
        """The place and the highest number of what is not remembered."""
        self._readers: dict[asyncio.Event, asyncio.AbstractEventLoop] = {}
        self._is_closed = False

    def note(self, kind: str, run: str, *, project: str, data: object, user: str | None = None) -> None:
        """Take in a change; what it replaces is not sent any more. A dict gets its number as `seq`.

        One that is about no run is about its project, for all or for one user.
        """
        with self._lock:
            seq = self.seq + 1
            self._keep([Change(seq, kind, run, project, encoded(data, seq), user)], seq)

    def seq_of(self, kind: str, run: str) -> int:
        """The number of the newest change; that of the beginning where there is none."""
        with self._lock:
            _, change = self._newest.get((kind, run), (0, None))
        return change.seq if change is not None else self.first_seq

    def refresh(self) -> None:
        """Know what others have said until now."""

    def is_first(self, word: str, data: bytes) -> bool:
        """Whether no other server has said this to people: then this one says `data`, and afterwards `has_said`."""
        return True

    def has_said(self, word: str, is_over: bool) -> None:
        """People were told, or nobody takes it; where it is not over another server may say it."""

    def unsaid(self) -> Mapping[str, bytes]:
        """By word, what other servers were to say and did not come to: this one says it now. Raises StorageFailing."""
        return {}

    def since(self, seq: int, wanted: Wanted) -> list[Change] | None:
        """What is newer than a number, the oldest first; None where some of it is forgotten."""
        with self._lock:
            found = self._since(seq)
        return None if found is None else [change for change in found if wanted.has(change)]

    async def follow(
        self,
        last_seq: int | None,
        wanted: Wanted,
        *,
        is_welcome: Callable[[], bool],
        shown: Callable[[], Shown] = lambda: lambda run, project: True,
    ) -> AsyncIterator[bytes]:
        """Events in the form of `text/event-stream`, from behind a number on, until we close or they are not welcome.

        Who asks for more than is remembered gets `reset` first: then everything must be asked for again. Nothing is
        said of runs that are not `shown` at that moment.
        """
        event = asyncio.Event()
        self._readers[event] = asyncio.get_running_loop()
        with self._lock:
            place, seq = self._place, self.seq
            found = [] if last_seq is None else self._since(last_seq)
        try:
            if last_seq is None:
                yield _encode(HELLO, seq, b"{}")
            before = seq if last_seq is None else last_seq
            while not self._is_closed and is_welcome():
                if found is None:
                    yield _encode(RESET, seq, b"{}")
                elif told := _only(filter(wanted.has, found), shown()):
                    # All of them have come with the last one.
                    ids = [before] * (len(told) - 1) + [seq]
                    yield b"".join(_encode(each.kind, at, each.data) for at, each in zip(ids, told, strict=True))
                    await asyncio.sleep(GATHERS_S)
                before = seq
                if self._place == place and not await _is_set(event, KEEP_ALIVE_S):
                    yield b": keep-alive\n\n"
                event.clear()
                with self._lock:
                    found, place, seq = self._behind(place), self._place, self.seq
        finally:
            self._readers.pop(event, None)

    @property
    def readers(self) -> int:
        """How many follow."""
        return len(self._readers)

    def end_unwelcome(self) -> None:
        """Let the streams of those who are not welcome any more end now, and not with the next change."""
        self._wake_readers()

    def close(self) -> None:
        """Let every stream end. Idempotent."""
        self._is_closed = True
        self._wake_readers()

    def _keep(self, changes: Collection[Change], seq: int) -> None:
        """Remember changes, and that all are known up to a number. With the lock."""
        for change in changes:
            about = (change.kind, change.about)
            self._newest.pop(about, None)
            self._place += 1
            self._newest[about] = (self._place, change)
            if len(self._newest) > MOST_CHANGES:
                _, (place, gone) = self._newest.popitem(last=False)
                self._forgotten = (place, max(self._forgotten[1], gone.seq))
        self.seq = seq
        if changes:
            self._wake_readers()

    def _since(self, seq: int) -> list[Change] | None:
        if not self._forgotten[1] <= seq <= self.seq:
            return None
        return [change for _, change in self._newest.values() if change.seq > seq]

    def _behind(self, place: int) -> list[Change] | None:
        if place < self._forgotten[0]:
            return None
        found = []
        for at, change in reversed(self._newest.values()):
            if at <= place:
                break
            found.append(change)
        return found[::-1]

    def _wake_readers(self) -> None:
        for event, loop in list(self._readers.items()):
            _wake(event, loop)


def encoded(data: object, seq: int = 0) -> bytes:
    """What is said, with its number where that is known."""
    return msgspec.json.encode({**data, "seq": seq} if isinstance(data, dict) and seq else data)


def _only(changes: Iterable[Change], shown: Shown) -> list[Change]:
    return [change for change in changes if shown(change.run, change.project)]


def _wake(event: asyncio.Event, loop: asyncio.AbstractEventLoop) -> None:
    if not event.is_set():
        try:
            loop.call_soon_threadsafe(event.set)
        except RuntimeError:  # the loop is closed
            return


async def _is_set(event: asyncio.Event, within_s: float) -> bool:
    try:
        await asyncio.wait_for(event.wait(), within_s)
    except TimeoutError:
        return False
    return True


def _encode(kind: str, seq: int, data: bytes) -> bytes:
    return b"id: %d\nevent: %s\ndata: %s\n\n" % (seq, kind.encode(), data)
