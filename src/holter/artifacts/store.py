"""The artifacts of a data directory, as programs of this machine make and read them."""

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager

from holter.artifacts.book import Book
from holter.artifacts.directory import DirectoryShelf
from holter.artifacts.pieces import Draft
from holter.artifacts.versions import Versions

FOLDER = "artifacts"


class Store(Versions):
    """Thread-safe, and safe against every other process that uses the data directory.

    Args:
        data: the data directory; nothing is made in it before something is kept.
    """

    def __init__(self, data: str) -> None:
        self.data = data
        self.root = os.path.join(data, FOLDER)
        self._directory = DirectoryShelf(self.root)
        super().__init__(self._directory)
        self.pieces = self._directory.kept

    def manifests(self) -> Iterator[tuple[str, str]]:
        """Digest and file of each manifest."""
        return self._directory.manifests.all()

    def forget(self, book: Book) -> None:
        """Remove a book that is somewhere else now; what only it named goes with the next collection."""
        with self._directory.page(book.project, book.name) as page:
            page.remove()

    def draft(self) -> AbstractContextManager[Draft]:
        """A place for new pieces; the lock on it says that its writer lives."""
        return self._directory.draft()

    def shared(self) -> AbstractContextManager[bool]:
        """While it is held nothing is removed."""
        return self._directory.shared()
