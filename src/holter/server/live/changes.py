"""The newest change of each kind to each run, in order: what streams send, and what lets them go on after a break."""

import asyncio
import threading
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Collection

import msgspec

MOST_CHANGES = 20_000
KEEP_ALIVE_S = 15.0
# Of many changes in a row, those of so long are sent together: each message costs more than what is in it.
GATHERS_S = 0.1
RESET, HELLO = "reset", "hello"
Shown = Callable[[str, str], bool]
"""Whether somebody may know of a run of a project."""


class Change(msgspec.Struct, frozen=True):
    """Something new of one kind about one run."""

    seq: int
    kind: str
    run: str
    project: str
    data: bytes
    user: str | None = None
    """The only one who is told of it; None for all."""


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
        self._newest: OrderedDict[tuple[str, str], Change] = OrderedDict()
        self._forgotten_seq = first_seq
        self._readers: dict[asyncio.Event, asyncio.AbstractEventLoop] = {}
        self._is_closed = False

    def note(self, kind: str, run: str, *, project: str, data: object, user: str | None = None) -> int:
        """Take in a change; what it replaces is not sent any more. Returns its number, which a dict gets as `seq`.

        One that is about no run is about its project, for all or for one user.
        """
        about = run or f"{project}\n{user}"
        with self._lock:
            self.seq += 1
            self._newest.pop((kind, about), None)
            said = {**data, "seq": self.seq} if isinstance(data, dict) else data
            self._newest[kind, about] = Change(self.seq, kind, run, project, msgspec.json.encode(said), user)
            if len(self._newest) > MOST_CHANGES:
                self._forgotten_seq = self._newest.popitem(last=False)[1].seq
            readers = list(self._readers.items())
            seq = self.seq
        for event, loop in readers:
            _wake(event, loop)
        return seq

    def seq_of(self, kind: str, run: str) -> int:
        """The number of the newest change; that of the beginning where there is none."""
        with self._lock:
            change = self._newest.get((kind, run))
        return change.seq if change is not None else self.first_seq

    def since(self, seq: int, wanted: Wanted) -> list[Change] | None:
        """What is newer than a number, the oldest first; None where some of it is forgotten."""
        with self._lock:
            if seq < self._forgotten_seq or seq > self.seq:
                return None
            found = []
            for change in reversed(self._newest.values()):
                if change.seq <= seq:
                    break
                found.append(change)
        return [change for change in reversed(found) if wanted.has(change)]

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
        seq = self.seq if last_seq is None else last_seq
        try:
            if last_seq is None:
                yield _encode(HELLO, seq, b"{}")
            while not self._is_closed and is_welcome():
                event.clear()
                now_seq = self.seq
                found = self.since(seq, wanted)
                if found is None:
                    yield _encode(RESET, now_seq, b"{}")
                elif found := _only(found, shown()):
                    yield b"".join(_encode(change.kind, change.seq, change.data) for change in found)
                    await asyncio.sleep(GATHERS_S)
                seq = max([now_seq, *(change.seq for change in found or ())])
                if not await _is_set(event, KEEP_ALIVE_S):
                    yield b": keep-alive\n\n"
        finally:
            self._readers.pop(event, None)

    @property
    def readers(self) -> int:
        """How many follow."""
        return len(self._readers)

    def end_unwelcome(self) -> None:
        """Let the streams of those who are not welcome any more end now, and not with the next change."""
        for event, loop in list(self._readers.items()):
            _wake(event, loop)

    def close(self) -> None:
        """Let every stream end. Idempotent."""
        self._is_closed = True
        self.end_unwelcome()


def _only(changes: list[Change], shown: Shown) -> list[Change]:
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
