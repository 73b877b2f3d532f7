"""Brings artifacts from one place to another: to where several servers share them, and back."""

from collections.abc import Iterator

from holter.artifacts.book import Book
from holter.artifacts.collecting import collect
from holter.artifacts.shelf import Stored
from holter.artifacts.store import Store
from holter.artifacts.versions import Versions
from holter.errors import ArtifactDamaged

_BATCH_BYTES = 16 << 20


def move(near: Store, far: Versions, *, now_ns: int) -> int:
    """Move all books; returns how many. Whoever is killed meanwhile goes on the next time. What is damaged stays.

    Raises StorageError, OSError.
    """
    books = near.all_books()
    damaged = copy(near, far)
    moved = [book for book in books if f"{book.project}/{book.name}" not in damaged]
    for book in moved:
        near.forget(book)
    if moved:
        collect(near, now_ns=now_ns, grace_s=0)
    return len(moved)


def copy(source: Versions, target: Versions) -> dict[str, str]:
    """Bring all books there, and read each piece again where it is now. Returns which are damaged here, and why.

    Numbers stay where the name is new there. Raises StorageError, OSError.
    """
    damaged = {}
    for book in source.all_books():
        try:
            _copy(source, target, book)
        except ArtifactDamaged as error:
            damaged[f"{book.project}/{book.name}"] = str(error)
    return damaged


def _copy(source: Versions, target: Versions, book: Book) -> None:
    manifests = [source.manifest(version.digest) for version in book.versions]
    pieces = list(dict.fromkeys(piece for manifest in manifests for piece, _ in manifest.pieces))
    for batch in _batches(source, target.shelf.lacking(pieces)):
        target.add(batch)
    for piece in pieces:
        target.read(piece)
    target.take(book, manifests)


def _batches(source: Versions, pieces: list[str]) -> Iterator[list[Stored]]:
    batch: list[Stored] = []
    for piece in pieces:
        source.read(piece)  # before somebody else keeps what is damaged
        data, is_compressed = source.shelf.read(piece)
        if batch and sum(len(each[1]) for each in batch) + len(data) > _BATCH_BYTES:
            yield batch
            batch = []
        batch.append((piece, data, is_compressed))
    if batch:
        yield batch
