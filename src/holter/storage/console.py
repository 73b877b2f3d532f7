"""The port for what a run printed and for what happened to it."""

from collections.abc import Sequence
from typing import Any, Protocol

import msgspec


class ConsoleLine(msgspec.Struct, frozen=True):
    """A line as a terminal would show it, its colours kept; `number` counts from 0 within its transcript."""

    number: int
    at_ns: int
    stream: int
    """1 for stdout, 2 for stderr, 3 where the two were one."""
    text: str


class ConsoleBatch(msgspec.Struct, frozen=True):
    """The lines that begin in a range of a transcript's bytes; `rest` is the text of the one that is not ended yet."""

    run: str
    transcript: str
    start: int
    stop: int
    lines: tuple[tuple[int, int, str], ...]
    """Time, stream and text of each."""
    rest: str = ""
    missed: int = 0
    """So many bytes at the beginning of the range were not kept."""
    first: int | None = None
    """The number of the first line; None where it follows the last one, or nobody counted those that were not kept."""


class Gap(msgspec.Struct, frozen=True):
    """Lines that were not kept."""

    first: int
    """The number of the first of them; where nobody counted them, of the first line behind them."""
    lines: int
    """How many; 0 where nobody counted them."""
    size_bytes: int


class Event(msgspec.Struct, frozen=True):
    """Something that happened, as the record in a journal says it. The same fields of a journal are the same event."""

    at_ns: int
    journal: str
    offset: int
    kind: str
    """The name of the record: `Alerted`, `Raised`, `Exited`, …"""
    fields: dict[str, Any]


class ConsoleRange(msgspec.Struct, frozen=True):
    """Which lines of a transcript: `count` of them from number `start` on, or the last `count` where it is None.

    With `text` only lines that contain it count, whatever their case and colours.
    """

    count: int
    start: int | None = None
    text: str = ""


class ConsoleStore(Protocol):
    """Keeps the lines of transcripts, and events. Thread-safe; several processes may have the same place open.

    - `append` is idempotent by (run, transcript, offset): a batch that ends where the store is already, or before, is
      passed over. One that does not begin where the store is gets OffsetGap.
    - An event is kept once, however often it is said: journals repeat the lasting ones in each segment.
    - What a method returned for outlives the process, and other processes see it.
    """

    def append(self, batch: ConsoleBatch) -> None:
        """Add lines. Raises OffsetGap, StorageFull, StorageDamaged."""

    def transcripts(self, run: str) -> dict[str, int]:
        """The byte offset up to which the store has each transcript of a run."""

    def lines(self, run: str, transcript: str, *, wanted: ConsoleRange) -> list[ConsoleLine]:
        """Lines in the order of their numbers; the unfinished last one is the last line."""

    def gaps(self, run: str, transcript: str) -> list[Gap]:
        """What was not kept between the lines, in order."""

    def add_events(self, run: str, events: Sequence[Event]) -> None:
        """Keep events. Raises StorageFull, StorageDamaged."""

    def events(self, run: str, kinds: Sequence[str] = ()) -> list[Event]:
        """All events of a run, or those of some kinds, by (time, journal, offset)."""

    def delete(self, run: str) -> None:
        """Forget the run. Idempotent; transcripts begin from offset 0 again."""
