"""Versions that lie on a server: looked at, and got piece by piece, each checked."""

import contextlib
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import msgspec

from holter.artifacts.artifact import Sealed
from holter.artifacts.book import Book, Version
from holter.artifacts.editing import Edit, note_use
from holter.artifacts.fetching import ReadPiece
from holter.artifacts.manifest import Manifest, decode, encode
from holter.artifacts.names import ArtifactName
from holter.artifacts.pieces import plain_bytes
from holter.artifacts.store import Store
from holter.artifacts.uploading import MOST_BATCH, Batch, Published, read_frames
from holter.artifacts.wishes import Wanted
from holter.errors import ArtifactDamaged, NoArtifact, Refused, Unreachable
from holter.wire.connection import Answer, Connection, parse_address

TIMEOUT_S = 30.0
_TRIES = 6


class FarStore:
    """The artifacts of a server, for one key. Used by one thread at a time.

    Args:
        near: pieces that are here already are not asked for.
    """

    def __init__(self, url: str, key: str, *, near: Store, pause: Callable[[float], None] = time.sleep) -> None:
        self.url = url
        self._connection = Connection(parse_address(url), key, timeout_s=TIMEOUT_S)
        self._near = near
        self._pause = pause

    def find(self, wanted: ArtifactName) -> "FarSealed":
        """The version of this name. Raises NoArtifact, Refused, Unreachable."""
        book = self.book(wanted.project, wanted.name)
        return FarSealed(self, self._near, book, book.find(wanted.alias))

    def book(self, project: str, name: str) -> Book:
        """All versions of a name. Raises NoArtifact, Refused, Unreachable."""
        found: Book = self.ask("GET", "/artifact/book", query={"project": project, "name": name}).json(Book)
        return found

    def books(self, project: str) -> list[Book]:
        """All names of a project. Raises Refused, Unreachable."""
        listed = self.ask("GET", "/artifacts", query={"project": project}).json(dict[str, Any])
        return [self.book(project, str(each["name"])) for each in listed["artifacts"]]

    def list(self, project: str) -> "list[FarSealed]":
        """All versions of a project. Raises Refused, Unreachable."""
        return [FarSealed(self, self._near, book, each) for book in self.books(project) for each in book.live()]

    def ask(self, method: str, path: str, **sent: Any) -> Answer:
        """As `Connection.ask`; what is not there is no artifact."""
        try:
            return self._connection.ask(method, path, **sent)
        except Refused as error:
            if error.status == 404:
                raise NoArtifact(f"{error} (on {self.url})") from error
            raise

    def ask_patiently(self, method: str, path: str, **sent: Any) -> Answer:
        """The same, again where nobody answers: half a minute of that ends no download of an hour."""
        for again in range(1, _TRIES):
            try:
                return self.ask(method, path, **sent)
            except Unreachable:
                self._pause(2.0 ** (again - 1))
        return self.ask(method, path, **sent)


class FarSealed(Sealed):
    """A version on a server."""

    def __init__(self, far: FarStore, near: Store, book: Book, version: Version, /) -> None:
        super().__init__(near, book, version)
        self.where = far.url
        self._far = far
        self._manifest: Manifest | None = None

    def manifest(self) -> Manifest:
        """Its files. Raises ArtifactDamaged, Refused, Unreachable."""
        if self._manifest is None:
            answer = self._far.ask("GET", "/artifact/manifest", query=self._named)
            self._manifest = decode(answer.data, self.version.digest)
        return self._manifest

    @contextlib.contextmanager
    def reading(self, only: Iterable[str] | None) -> Iterator[ReadPiece]:
        """How its pieces are read; nothing that is here already goes meanwhile."""
        with self.store.shared():
            yield _Ahead(self._ask_for, self._still_needed(only), self.store).read

    def delete(self) -> None:
        """Into the trash of the server. Raises Refused, Unreachable."""
        self._far.ask("DELETE", "/artifact/version", query=self._named)

    def edit(self, edit: Edit) -> None:
        """Say on the server what it is called. Raises Refused, Unreachable."""
        asked = {**self._named, **msgspec.to_builtins(edit)}
        self._far.ask("PATCH", "/artifact/version", data=msgspec.json.encode(asked))
        self.book = self._far.book(self.book.project, self.book.name)
        self.version = self.book.of_number(self.version.number)

    def link(self, wanted: Wanted) -> Sealed:
        """The same content under another name on the server, too. Raises Refused, Unreachable."""
        data = msgspec.msgpack.encode(Batch(wanted, encode(self.manifest()), self.version.digest))
        media, query = "application/octet-stream", {"project": wanted.project}
        made: Published = self._far.ask("POST", "/artifact/publish", query=query, data=data, media=media).json(
            Published
        )
        return self._far.find(ArtifactName(wanted.project, wanted.name, made.version))

    def note_use(self, run: str) -> None:
        """A run takes it as its input. Raises Refused, Unreachable."""
        self._far.ask("POST", "/artifact/use", data=msgspec.json.encode({**self._named, "by": run}))
        note_use(self.version, run)

    @property
    def _named(self) -> dict[str, str]:
        return {"project": self.book.project, "name": self.book.name, "version": self.version.name}

    def _still_needed(self, only: Iterable[str] | None) -> list[tuple[str, int]]:
        manifest, names = self.manifest(), None if only is None else set(only)
        places = [
            span.piece for entry in manifest.entries if names is None or entry.path in names for span in entry.spans
        ]
        needed = (manifest.pieces[place] for place in dict.fromkeys(places))
        return [(digest, size) for digest, size in needed if not self.store.pieces.find(digest)]

    def _ask_for(self, pieces: list[str]) -> dict[str, bytes]:
        asked = msgspec.json.encode({**self._named, "pieces": pieces})
        answer = self._far.ask_patiently("POST", "/artifact/read", data=asked)
        return {
            digest: plain_bytes(digest, data, is_compressed=is_compressed)
            for digest, is_compressed, data in read_frames(answer.data)
        }


class _Ahead:
    """Asks for several pieces at once, in the order in which they will be wanted."""

    def __init__(
        self, ask: Callable[[list[str]], dict[str, bytes]], needed: list[tuple[str, int]], near: Store, /
    ) -> None:
        self._ask = ask
        self._needed = needed
        self._places = {digest: place for place, (digest, _) in enumerate(needed)}
        self._near = near
        self._held: dict[str, bytes] = {}

    def read(self, digest: str) -> bytes:
        """A piece, checked. Raises ArtifactDamaged, Refused, Unreachable."""
        if digest not in self._places:
            with contextlib.suppress(ArtifactDamaged):  # then the server's
                return self._near.pieces.read(digest)
        if digest not in self._held:
            self._held = self._ask(self._next(digest))
        if (found := self._held.pop(digest, None)) is None:
            raise ArtifactDamaged(f"the server did not send the piece {digest[:12]}: try again")
        return found

    def _next(self, digest: str) -> list[str]:
        wanted, size = [digest], 0
        start = self._places.get(digest, len(self._needed))
        for other, length in self._needed[start : start + 1000]:
            size += length
            if other != digest and size <= MOST_BATCH:
                wanted.append(other)
        return wanted


def open_far(url: str, key: str, *, data: str) -> FarStore:
    """The artifacts of a server, for who has those of a data directory at hand."""
    return FarStore(url, key, near=Store(data))
