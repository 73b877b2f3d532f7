"""The port for the books of sweeps: lines that are only ever added, by any number of processes and servers."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Protocol

import msgspec


class Lines(msgspec.Struct, frozen=True):
    """Lines of a book, and the place behind them, from which to read on."""

    lines: list[bytes]
    stop: int


class Heard(msgspec.Struct, frozen=True):
    """What an agent said last, and when, by the clock of who asks."""

    data: bytes
    at_ns: int


class SweepBook(Protocol):
    """One sweep's book. Each method raises StorageError, JournalError, OSError."""

    def read(self, start: int) -> Lines:
        """What there is from a place on, 0 for all of it."""

    def append(self, start: int, make: Callable[[Lines], list[bytes]]) -> int:
        """Add what follows from the lines since `start`, while nobody else adds any; returns the place behind it.

        All of it is there or none, and durable when this returns.
        """

    def turn(self) -> AbstractContextManager[None]:
        """Within this few others choose a trial, which would be for nothing. It keeps nobody from adding."""

    def hear(self, agent: str, data: bytes, *, at_ns: int) -> None:
        """Replace what an agent said last."""

    def heard(self) -> list[Heard]:
        """What each agent said last."""


class SweepStore(Protocol):
    """Keeps the books of sweeps. Thread-safe; several processes may have the same place open."""

    def names(self) -> list[str]:
        """The sweeps that there are."""

    def begin(self, sweep: str, lines: list[bytes]) -> None:
        """Make a book with these lines; nobody ever sees it without them. Raises FileExistsError where there is one."""

    def open(self, sweep: str) -> SweepBook:
        """A book. Raises NoSweep."""

    def close(self) -> None:
        """Idempotent."""
