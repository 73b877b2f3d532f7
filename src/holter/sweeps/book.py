"""A sweep's book, wherever it is kept: what was written in it, and what that says."""

from collections.abc import Callable
from contextlib import AbstractContextManager

import msgspec

from holter.errors import JournalError
from holter.storage.sweeps import Heard, Lines, SweepStore
from holter.sweeps.events import AnyEvent, Begun
from holter.sweeps.state import SweepState
from holter.sweeps.words import AgentSeen

_encode = msgspec.json.Encoder().encode
_decoder: "msgspec.json.Decoder[AnyEvent]" = msgspec.json.Decoder(AnyEvent)


def begin_book(store: SweepStore, sweep: str, *, begun: Begun) -> None:
    """Make one. Raises OSError, FileExistsError where there is one, StorageError."""
    store.begin(sweep, [_encode(begun)])


class Book:
    """One sweep's book and what it says. Used by one thread at a time; others write in it, too.

    Raises NoSweep, and whatever the port raises.
    """

    def __init__(self, store: SweepStore, sweep: str) -> None:
        self._kept = store.open(sweep)
        self.state = SweepState()
        self._read_to = 0

    def catch_up(self) -> SweepState:
        """Read what others wrote."""
        self._take(self._kept.read(self._read_to))
        return self.state

    def append(self, make: Callable[[SweepState], list[AnyEvent]]) -> list[AnyEvent]:
        """Write what follows from the state as it is at this moment, when nobody else writes; none for nothing.

        Durable when it returns.
        """
        made: list[AnyEvent] = []

        def lines(news: Lines) -> list[bytes]:
            self._take(news)
            made.extend(make(self.state))
            return [_encode(each) for each in made]

        self._read_to = self._kept.append(self._read_to, lines)
        for event in made:
            self.state.apply(event)
        return made

    def turn(self) -> AbstractContextManager[None]:
        """While one asks a sampler others wait with that; the book itself stays open to all."""
        return self._kept.turn()

    def hear(self, seen: AgentSeen) -> None:
        """An agent said something."""
        self._kept.hear(seen.asker.id, _encode(seen), at_ns=seen.at_ns)

    def agents(self) -> list[AgentSeen]:
        """Those that were heard of, the newest first."""
        found = [seen for each in self._kept.heard() if (seen := _seen(each)) is not None]
        return sorted(found, key=lambda each: -each.at_ns)

    def _take(self, news: Lines) -> None:
        for line in news.lines:
            self.state.apply(_event(line))
        self._read_to = news.stop


def _event(line: bytes) -> AnyEvent:
    try:
        return _decoder.decode(line)
    except msgspec.MsgspecError as error:
        raise JournalError(f"a newer holter wrote this sweep ({error}): upgrade to read it") from error


def _seen(heard: Heard) -> AgentSeen | None:
    try:
        said = msgspec.json.decode(heard.data, type=AgentSeen)
    except msgspec.MsgspecError:  # its machine died while it wrote: it says more soon, or is gone
        return None
    return msgspec.structs.replace(said, at_ns=heard.at_ns)
