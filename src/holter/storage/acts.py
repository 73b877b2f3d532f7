"""The port for what people did, where several servers share a storage: the lines of all their audits."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol


class Line(NamedTuple):
    """An act as it was written down, and when it was done, in seconds since 1970."""

    at: float
    text: bytes


class ActStore(Protocol):
    """Lines are only added. Thread-safe. Each method but `close` raises StorageFailing."""

    def add(self, lines: Sequence[Line]) -> None:
        """Keep lines. Idempotent: what is there already is passed over."""

    def all(self) -> Sequence[Line]:
        """All that any server has added, the oldest first."""

    def close(self) -> None:
        """Idempotent."""
