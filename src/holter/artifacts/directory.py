"""Books, manifests and pieces in one directory that many processes may use at once.

Who changes a book holds the directory's lock shared; who removes something holds it alone. Both go with the process.
"""

import contextlib
import errno
import fcntl
import hashlib
import os
from collections.abc import Iterable, Iterator, Sequence
from functools import partial

from holter.artifacts.manifest import is_digest
from holter.artifacts.pieces import Draft, Pieces
from holter.artifacts.shelf import Remove, Stored
from holter.artifacts.sweeping import sweep
from holter.journal.kept_files import replace_for_good
from holter.journal.rundir import make_private, sync_directory

_LOCK = ".lock"
_ENDING = ".json.zst"


class DirectoryShelf:
    """The port `Shelf`.

    Args:
        root: nothing is made in it before something is kept.
    """

    def __init__(self, root: str) -> None:
        self.root = root
        self.kept = Pieces(os.path.join(root, "pieces"))
        self._books = os.path.join(root, "books")
        self.manifests = ManifestFiles(os.path.join(root, "manifests"))

    def books(self, project: str | None = None) -> Iterator[bytes]:
        """All of a project, or of all."""
        folders = _names(self._books) if project is None else [os.path.basename(self._folder(project))]
        for folder in folders:
            for name in _names(os.path.join(self._books, folder)):
                data = _read(os.path.join(self._books, folder, name)) if _is_book(name) else None
                if data is not None:
                    yield data

    def book(self, project: str, name: str) -> bytes | None:
        """As it is now."""
        return _read(self._path(project, name))

    @contextlib.contextmanager
    def page(self, project: str, name: str) -> Iterator["DirectoryPage"]:
        """Open a book."""
        folder = self._folder(project)
        make_private(folder)
        with self.shared(), _locked(os.path.join(folder, f".{name}.lock"), fcntl.LOCK_EX):
            yield DirectoryPage(self, self._path(project, name))

    def manifest(self, digest: str) -> bytes | None:
        """None where it is absent."""
        return self.manifests.read(digest)

    def lacking(self, pieces: Sequence[str]) -> list[str]:
        """Which of them are not there."""
        return [piece for piece in dict.fromkeys(pieces) if not self.kept.has(piece)]

    def read(self, piece: str) -> tuple[bytes, bool]:
        """Its bytes as they are kept."""
        return self.kept.read_stored(piece)

    def add(self, pieces: Sequence[Stored]) -> None:
        """Keep pieces."""
        with self.draft() as draft:
            for digest, data, is_compressed in pieces:
                draft.add_stored(digest, data, is_compressed=is_compressed)
            draft.place()

    def stored_bytes(self, pieces: Iterable[str]) -> int:
        """What they take on the disk."""
        return sum(self.kept.stored_bytes(piece) for piece in set(pieces))

    def shared(self) -> "contextlib.AbstractContextManager[bool]":
        """While it is held nothing is removed."""
        return _locked(os.path.join(self.root, _LOCK), fcntl.LOCK_SH)

    @contextlib.contextmanager
    def alone(self) -> Iterator[Remove | None]:
        """While it is held no book is open."""
        remove = partial(sweep, self.root, (self.manifests.all, self.kept.all))
        if not os.path.isdir(self.root):
            yield remove
            return
        with _locked(os.path.join(self.root, _LOCK), fcntl.LOCK_EX | fcntl.LOCK_NB) as is_alone:
            yield remove if is_alone else None

    def close(self) -> None:
        """Nothing is open between two calls. Idempotent."""

    @contextlib.contextmanager
    def draft(self) -> Iterator[Draft]:
        """A place for new pieces; the lock on it says that its writer lives."""
        with contextlib.ExitStack() as held:
            folder = self._own_folder(held)
            try:
                with Draft(self.kept, folder) as draft:
                    yield draft
            finally:
                with contextlib.suppress(OSError):
                    os.unlink(os.path.join(folder, _LOCK))
                    os.rmdir(folder)

    def _own_folder(self, held: contextlib.ExitStack) -> str:
        while True:
            folder = os.path.join(self.root, "staging", os.urandom(8).hex())
            lock = os.path.join(folder, _LOCK)
            with contextlib.suppress(FileNotFoundError):
                make_private(folder)
                held.enter_context(_locked(lock, fcntl.LOCK_EX))
                # Until we had the lock a collector could take the folder for one that somebody left.
                if os.path.exists(lock):
                    return folder

    def _folder(self, project: str) -> str:
        safe = "".join(letter if letter.isascii() and letter.isalnum() else "-" for letter in project)
        # What is left out makes no two projects one.
        return os.path.join(self._books, f"{safe[:80]}-{hashlib.sha256(project.encode()).hexdigest()[:16]}")

    def _path(self, project: str, name: str) -> str:
        return os.path.join(self._folder(project), f"{name}.json")


class ManifestFiles:
    """A file for each manifest."""

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def read(self, digest: str) -> bytes | None:
        """None where it is absent."""
        return _read(self._path(digest))

    def keep(self, digest: str, data: bytes) -> None:
        """Keep it, durably."""
        path = self._path(digest)
        make_private(os.path.dirname(path))
        replace_for_good(path, data)
        sync_directory(os.path.dirname(path))

    def all(self) -> Iterator[tuple[str, str]]:
        """Digest and file of each."""
        for folder in _names(self._folder):
            for name in _names(os.path.join(self._folder, folder)):
                if is_digest(digest := name.removesuffix(_ENDING)):
                    yield digest, os.path.join(self._folder, folder, name)

    def _path(self, digest: str) -> str:
        return os.path.join(self._folder, digest[:2], digest + _ENDING)


class DirectoryPage:
    """The port `Page`."""

    def __init__(self, shelf: DirectoryShelf, path: str) -> None:
        self._shelf = shelf
        self._path = path
        self.before = _read(path)
        self.manifest = shelf.manifests.read
        self.lacking = shelf.lacking
        self.keep_manifest = shelf.manifests.keep

    def keep(self, book: bytes) -> None:
        """Replace the book."""
        replace_for_good(self._path, book)
        sync_directory(os.path.dirname(self._path))

    def remove(self) -> None:
        """Remove the book. Idempotent."""
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self._path)


@contextlib.contextmanager
def _locked(path: str, how: int) -> Iterator[bool]:
    """Hold a lock that goes with the process; false where it is another's and `how` does not wait."""
    try:
        fd = os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    except OSError as error:
        if how != fcntl.LOCK_SH or error.errno not in (errno.EROFS, errno.EACCES, errno.ENOENT):
            raise
        yield True  # somebody else's store, which we only read
        return
    try:
        try:
            fcntl.flock(fd, how)
        except BlockingIOError:
            yield False
        else:
            yield True
    finally:
        os.close(fd)


def _is_book(name: str) -> bool:
    return name.endswith(".json") and not name.startswith(".")


def _read(path: str) -> bytes | None:
    try:
        with open(path, "rb") as file:
            return file.read()
    except (FileNotFoundError, NotADirectoryError):
        return None


def _names(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except (FileNotFoundError, NotADirectoryError):
        return []
