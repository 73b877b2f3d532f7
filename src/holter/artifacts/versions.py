"""Versions by name, wherever they lie.

A version is published by its book, after its manifest and pieces are kept: before that nobody sees it, afterwards it is
whole.
"""

import contextlib
import zlib
from collections.abc import Iterator, Sequence

import msgspec

from holter.artifacts.book import Absent, Book, Version, check_name
from holter.artifacts.editing import merge
from holter.artifacts.manifest import Manifest, content_digest, decode, encode, is_digest
from holter.artifacts.pieces import plain_bytes
from holter.artifacts.shelf import Page, Shelf, Stored
from holter.artifacts.wishes import Wanted
from holter.errors import ArtifactDamaged, NoArtifact, PiecesMissing, UsageError


class Versions:
    """The versions of a shelf. Thread-safe, and safe against everybody else who uses the same shelf."""

    def __init__(self, shelf: Shelf) -> None:
        self.shelf = shelf
        self._last: tuple[tuple[str, int], Manifest] | None = None

    def projects_with(self, name: str) -> list[str]:
        """Those in which something is called so."""
        return sorted(book.project for book in self.all_books() if book.name == name)

    def all_books(self, project: str | None = None) -> list[Book]:
        """All names of a project, or of all. Raises ArtifactDamaged."""
        found = [_book(data, "of an artifact") for data in self.shelf.books(project)]
        return [book for book in found if project in (None, book.project)]

    def look(self, project: str, name: str) -> Book | None:
        """The book as it is now; None where nobody has made one. Raises ArtifactDamaged."""
        data = self.shelf.book(project, check_name(name))
        return _book(data, name) if data is not None else None

    def book(self, project: str, name: str) -> Book:
        """The same. Raises NoArtifact where nobody has made one."""
        if (book := self.look(project, name)) is None:
            raise NoArtifact(
                f"there is no artifact {name!r} in project {project!r}: `holter artifact ls` lists what is there"
            )
        return book

    @contextlib.contextmanager
    def change(self, project: str, name: str, *, type_: str = "") -> Iterator[Book]:
        """The book, to be changed by nobody else meanwhile; kept at the end of the block unless that raises.

        Raises NoArtifact where there is none and no type to make one of.
        """
        with self._opened(project, name, type_) as (book, _):
            yield book

    def manifest(self, digest: str) -> Manifest:
        """Raises ArtifactDamaged where it is absent or not what its name says."""
        try:
            data = self.shelf.manifest(_checked(digest))
        except OSError as error:
            raise ArtifactDamaged(f"the manifest {digest[:12]} can't be read ({error.strerror})") from error
        if data is None:
            raise ArtifactDamaged(f"the manifest {digest[:12]} is missing")
        # One of 100,000 files takes a second, and whoever looks at one file looks at another.
        key = digest, zlib.crc32(data)
        known = self._last
        if known is None or known[0] != key:
            self._last = known = (key, decode(data, digest))
        return known[1]

    def read(self, piece: str) -> bytes:
        """The bytes of a piece, checked. Raises ArtifactDamaged where it is absent or has other bytes."""
        try:
            data, is_compressed = self.shelf.read(piece)
        except OSError as error:
            raise ArtifactDamaged(f"the piece {piece[:12]} is missing ({error.strerror or error})") from error
        return plain_bytes(piece, data, is_compressed=is_compressed)

    def add(self, pieces: Sequence[Stored]) -> None:
        """Keep pieces that somebody sent; a version of them comes later. Raises ArtifactDamaged, and keeps none."""
        for digest, data, is_compressed in pieces:
            plain_bytes(_checked(digest), data, is_compressed=is_compressed)
        self.shelf.add(pieces)

    def publish(self, manifest: Manifest, wanted: Wanted, *, new_bytes: int = 0) -> Version:
        """Seal a version whose pieces are all there. Raises PiecesMissing: add those again.

        Raises UsageError where the name belongs to another type.
        """
        digest = content_digest(manifest.entries)
        with self._opened(wanted.project, wanted.name, wanted.type) as (book, page):
            # The collector is shut out: what is there now stays there until the book names it.
            if (files := _known(page, digest)) is None:
                if missing := page.lacking([piece for piece, _ in manifest.pieces]):
                    raise PiecesMissing(wanted.name, missing)
                page.keep_manifest(digest, encode(manifest))
                files = manifest
            _check_type(book, wanted.type)
            version = book.add(
                Version(
                    number=-1,
                    digest=digest,
                    bytes=files.bytes,
                    files=len(files.entries),
                    made_ns=wanted.at_ns,
                    run=wanted.run,
                    new_bytes=new_bytes,
                    description=wanted.description,
                    metadata=dict(wanted.metadata),
                    expires_ns=wanted.at_ns + int(wanted.ttl_s * 1e9) if wanted.ttl_s else 0,
                    ask=wanted.ask,
                ),
                aliases=wanted.aliases,
            )
            book.keep = wanted.keep or book.keep
            book.retire()
        return version

    def take(self, book: Book, manifests: Sequence[Manifest]) -> None:
        """Take over a book from another place; its versions join those that are here. Raises PiecesMissing."""
        with self._opened(book.project, book.name, book.type) as (there, page):
            for manifest in manifests:
                if missing := page.lacking([piece for piece, _ in manifest.pieces]):
                    raise PiecesMissing(book.name, missing)
                page.keep_manifest(content_digest(manifest.entries), encode(manifest))
            merge(there, book)

    def miss(self, wanted: Wanted, why: str) -> None:
        """Write down that a version did not come to be."""
        with self.change(wanted.project, wanted.name, type_=wanted.type) as book:
            book.miss(Absent(ask=wanted.ask, at_ns=wanted.at_ns, why=why, run=wanted.run))

    def close(self) -> None:
        """Close the shelf. Idempotent."""
        self.shelf.close()

    @contextlib.contextmanager
    def _opened(self, project: str, name: str, type_: str) -> Iterator[tuple[Book, Page]]:
        check_name(name)
        if not type_:
            self.book(project, name)
        with self.shelf.page(project, name) as page:
            if page.before is None and not type_:
                raise NoArtifact(f"there is no artifact {name!r} in project {project!r}")
            new = Book(project=project, name=name, type=type_)
            book = _book(page.before, name) if page.before is not None else new
            before = msgspec.json.encode(book)
            yield book, page
            if (after := msgspec.json.encode(book)) != before:
                page.keep(after)


def _known(page: Page, digest: str) -> Manifest | None:
    """The manifest of this content, if all of it is there."""
    data = page.manifest(digest)
    try:
        manifest = decode(data, digest) if data is not None else None
    except ArtifactDamaged:
        return None
    return manifest if manifest and not page.lacking([piece for piece, _ in manifest.pieces]) else None


def _book(data: bytes, name: str) -> Book:
    try:
        return msgspec.json.decode(data, type=Book)
    except msgspec.DecodeError as error:
        raise ArtifactDamaged(f"the book {name} can't be read: {error}; a disk must have changed it") from error


def _check_type(book: Book, type_: str) -> None:
    if not book.type:
        book.type = type_
    if book.type != type_:
        raise UsageError(f"the artifact {book.name} is of type {book.type!r}, not {type_!r}: choose another name")


def _checked(digest: str) -> str:
    if not is_digest(digest):
        raise UsageError(f"{digest[:70]!r} is no digest")
    return digest
