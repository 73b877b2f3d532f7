"""The pieces of a store: bytes by the digest of what they are, each whole or absent."""

import contextlib
import errno
import hashlib
import os
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor

from holter.artifacts.manifest import is_digest
from holter.artifacts.packing import pack, unpack
from holter.errors import ArtifactDamaged
from holter.journal.rundir import make_private, sync_directory

_COMPRESSED = ".zst"
_SAMPLE_BYTES = 32 << 10
_PAYS_BELOW = 0.9
_SYNCERS = 8
# What one piece may become when it is unpacked; the writers' largest is a quarter of it.
MOST_BYTES = 64 << 20


class Pieces:
    """Owns the folder of pieces. Any number of processes may add; only the collector removes, alone.

    Args:
        folder: made with the first piece.
    """

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def find(self, digest: str) -> str:
        """The file of a piece, empty where it is absent."""
        path = self._path(digest)
        for found in (path + _COMPRESSED, path):
            if os.path.exists(found):
                return found
        return ""

    def has(self, digest: str) -> bool:
        """Whether it is there; one that is, is marked as wanted."""
        if not (path := self.find(digest)):
            return False
        try:
            os.utime(path)
        except OSError:
            return bool(self.find(digest))
        return True

    def read(self, digest: str) -> bytes:
        """The bytes of a piece, checked. Raises ArtifactDamaged where it is absent or has other bytes."""
        path = self.find(digest)
        try:
            with open(path, "rb") as file:
                data = file.read()
        except OSError as error:
            raise ArtifactDamaged(f"the piece {digest[:12]} is missing ({error.strerror})") from error
        data = _unpacked(data, digest) if path.endswith(_COMPRESSED) else data
        if hashlib.sha256(data).hexdigest() != digest:
            raise ArtifactDamaged(f"the piece {digest[:12]} has other bytes than its name says: the disk changed them")
        return data

    def read_stored(self, digest: str) -> tuple[bytes, bool]:
        """A piece as it lies there, and whether it is compressed. Raises OSError."""
        path = self.find(digest)
        with open(path, "rb") as file:
            return file.read(), path.endswith(_COMPRESSED)

    def stored_bytes(self, digest: str) -> int:
        """What it takes on the disk; 0 where it is absent."""
        with contextlib.suppress(OSError):
            return os.stat(self.find(digest)).st_size
        return 0

    def all(self) -> Iterator[tuple[str, str]]:
        """Digest and file of each."""
        for folder in _names(self.folder):
            for name in _names(os.path.join(self.folder, folder)):
                if is_digest(digest := name.removesuffix(_COMPRESSED)):
                    yield digest, os.path.join(self.folder, folder, name)

    def place(self, files: Iterable[tuple[str, str]]) -> None:
        """Take over files of pieces: synced, then named, then the names synced. Raises OSError."""
        files = list(files)
        with ThreadPoolExecutor(_SYNCERS) as pool:
            list(pool.map(_sync, [path for path, _ in files]))
            folders = set()
            for path, name in files:
                target = os.path.join(self.folder, name[:2], name)
                make_private(os.path.dirname(target))
                os.replace(path, target)
                folders.add(os.path.dirname(target))
            list(pool.map(sync_directory, folders))
        if folders:
            sync_directory(self.folder)

    def _path(self, digest: str) -> str:
        return os.path.join(self.folder, digest[:2], digest)


class Draft:
    """New pieces that nobody sees yet. Use as a context: what was not placed is gone afterwards."""

    def __init__(self, pieces: Pieces, folder: str) -> None:
        self._pieces = pieces
        self._folder = folder
        self._files: dict[str, tuple[str, str]] = {}
        self.new_bytes = 0

    def __enter__(self) -> "Draft":
        make_private(self._folder)
        return self

    def __exit__(self, *_: object) -> None:
        for path, _name in self._files.values():
            with contextlib.suppress(OSError):
                os.unlink(path)

    def add(self, data: bytes | memoryview) -> str:
        """Keep bytes that may be there already; returns their digest. Raises OSError."""
        digest = hashlib.sha256(data).hexdigest()
        if digest not in self._files and not self._pieces.has(digest):
            self._write(digest, data, is_compressed=pays(data))
        return digest

    def add_stored(self, digest: str, data: bytes, *, is_compressed: bool) -> None:
        """Take a piece as another store keeps it. Raises ArtifactDamaged where it is not what it is said to be."""
        plain = plain_bytes(digest, data, is_compressed=is_compressed)
        if digest not in self._files and not self._pieces.has(digest):
            self._write(digest, plain, is_compressed=is_compressed)

    def place(self) -> None:
        """Put all of them into the store. Raises OSError."""
        self._pieces.place(self._files.values())
        self._files = {}

    def _write(self, digest: str, data: bytes | memoryview, *, is_compressed: bool) -> None:
        kept = pack(data) if is_compressed else data
        name = digest + (_COMPRESSED if is_compressed else "")
        path = os.path.join(self._folder, name)
        with open(
            os.open(path, os.O_CREAT | os.O_TRUNC | os.O_WRONLY | os.O_CLOEXEC, 0o600), "wb", buffering=0
        ) as file:
            self._files[digest] = path, name
            view = memoryview(kept)
            while view:
                view = view[file.write(view) :]
        self.new_bytes += len(kept)


def plain_bytes(digest: str, data: bytes, *, is_compressed: bool) -> bytes:
    """A piece that came from another store. Raises ArtifactDamaged where it is not what it is said to be."""
    plain = _unpacked(data, digest) if is_compressed else data
    if hashlib.sha256(plain).hexdigest() != digest:
        raise ArtifactDamaged(f"the bytes that came are not the piece {digest[:12]}: send them again")
    return plain


def _unpacked(data: bytes, digest: str) -> bytes:
    try:
        return unpack(data, most_bytes=MOST_BYTES)
    except ValueError as error:
        raise ArtifactDamaged(f"the piece {digest[:12]} can't be unpacked ({error})") from error


def pays(data: bytes | memoryview) -> bool:
    """Whether compressing is worth it, by a look at its beginning, its middle and its end."""
    view, size = memoryview(data), len(data)
    if size < 512:
        return False
    places = (0, max(0, size // 2), max(0, size - _SAMPLE_BYTES))
    sample = (
        view[: 3 * _SAMPLE_BYTES]
        if size <= 3 * _SAMPLE_BYTES
        else b"".join(bytes(view[place : place + _SAMPLE_BYTES]) for place in places)
    )
    return len(pack(sample, level=1)) < _PAYS_BELOW * len(sample)


def _sync(path: str) -> None:
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
    finally:
        os.close(fd)


def _names(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except (FileNotFoundError, NotADirectoryError):
        return []
