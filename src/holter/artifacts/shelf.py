"""The port for what versions are made of: books, manifests and pieces, on one machine or for any number of servers.

Bytes are only kept here. What they mean, and when a version exists, is said once, in `versions`.
"""

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

Stored = tuple[str, bytes, bool]
"""A piece: its digest, its bytes as they are kept, and whether these are compressed."""
Remove = Callable[[set[str], float], tuple[int, int]]
"""Removes manifests and pieces that are not among the named ones, and were neither added nor asked for in the last so
many seconds; how many, and their bytes."""


class Page(Protocol):
    """A book that is open: nobody else changes it, and no piece or manifest goes, until it is closed.

    What is kept holds when it is closed, all of it or, after an exception, no book.
    """

    @property
    def before(self) -> bytes | None:
        """The book as it was; None where there is none."""

    def manifest(self, digest: str) -> bytes | None:
        """None where it is absent."""

    def lacking(self, pieces: Sequence[str]) -> list[str]:
        """Which of them are not there."""

    def keep_manifest(self, digest: str, data: bytes) -> None:
        """Keep a manifest, or replace it."""

    def keep(self, book: bytes) -> None:
        """Replace the book; afterwards it names manifests that are there."""


class BookShelf(Protocol):
    """Books and manifests."""

    def books(self, project: str | None = None) -> Iterable[bytes]:
        """All of a project, or of all projects."""

    def book(self, project: str, name: str) -> bytes | None:
        """As it is now; None where nobody has made one."""

    def page(self, project: str, name: str) -> AbstractContextManager[Page]:
        """Open a book, waiting for whoever has it open."""

    def manifest(self, digest: str) -> bytes | None:
        """None where it is absent."""

    def alone(self) -> AbstractContextManager[Remove | None]:
        """While it is held no book is open; None where one is: then try again later."""

    def close(self) -> None:
        """Idempotent."""


class PieceShelf(Protocol):
    """Pieces. Each is whole or absent."""

    def lacking(self, pieces: Sequence[str]) -> list[str]:
        """Which of them are not there; those that are, are marked as wanted and stay for a while."""

    def read(self, piece: str) -> tuple[bytes, bool]:
        """Its bytes as they are kept, and whether these are compressed. Raises OSError where it is absent."""

    def add(self, pieces: Sequence[Stored]) -> None:
        """Keep pieces that were looked at; when this returns they outlive the process and the machine."""

    def stored_bytes(self, pieces: Iterable[str]) -> int:
        """What they take together."""


class Shelf(BookShelf, PieceShelf, Protocol):
    """Both. Thread-safe, and safe against everybody else who uses the same. Methods raise StorageError, OSError."""
