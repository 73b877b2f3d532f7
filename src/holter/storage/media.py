"""The port for what rows hold beside numbers: media and histograms by run, key and step."""

from collections.abc import Sequence
from typing import Protocol

import msgspec


class MediaEntry(msgspec.Struct, frozen=True, kw_only=True):
    """What a row holds under a key; `data` is nothing that the store looks into."""

    key: str
    step: int
    logged_ns: int
    type: str
    """`image`, `table`, `histogram`, …"""
    data: bytes


class MediaKey(msgspec.Struct, frozen=True, kw_only=True):
    """A key of a run under which there are media."""

    key: str
    type: str
    """That of the last step."""
    steps: int
    """How many steps have some."""
    first: int
    last: int


class MediaQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Which entries of a key: `most` of those from `first` to `last`; with `newest` the last of them."""

    key: str
    first: int | None = None
    last: int | None = None
    most: int = 1000
    newest: bool = False


class MediaStore(Protocol):
    """Keeps one entry for each run, key and step: the one logged last. Thread-safe; shared between processes.

    - `add` is idempotent; of two that were logged at the same time the one that is added later holds.
    - What a method returned for outlives the process, and other processes see it.
    """

    def add(self, run: str, entries: Sequence[MediaEntry]) -> None:
        """Keep entries. Raises StorageFull, StorageDamaged."""

    def keys(self, run: str) -> list[MediaKey]:
        """All keys of a run, by name."""

    def steps(self, run: str, key: str) -> list[int]:
        """The steps that have an entry, growing."""

    def select(self, run: str, query: MediaQuery) -> list[MediaEntry]:
        """Entries by step."""

    def delete(self, run: str) -> None:
        """Forget the run. Idempotent."""
