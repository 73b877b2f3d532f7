"""One piece of work: an entry of the spool, the place where files go, and what is to be said of it."""

import contextlib
import hashlib
import os
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from holter.errors import JournalError, NotKept
from holter.journal.rundir import make_private, used_bytes
from holter.journal.spool import PARTIAL, Entry, OpenEntry, Part
from holter.model.media_records import FOLDER, MediaItem

# Rows are worth more than media: those end a good deal before the run's limit.
SHARE_OF_LIMIT = 0.8
MOST_META_BYTES = 4 << 20
_CHUNK_BYTES = 4 << 20

Array = npt.NDArray[Any]


class Work:
    """What a kind of work is given. Files that it keeps are complete or not there."""

    def __init__(self, directory: str, name: str, *, opened: OpenEntry, limit_bytes: int) -> None:
        self.directory = directory
        self.name = name
        self.entry: Entry = opened.entry
        self.warnings: list[str] = []
        self._opened = opened
        self._limit_bytes = limit_bytes
        self._used = -1

    @property
    def items(self) -> list[dict[str, Any]]:
        """What the client says of each medium."""
        return list(self.entry.about["items"])

    def warn(self, text: str) -> None:
        """Something the user should know; said once for each key."""
        self.warnings.append(f"{self.entry.key!r}: {text}")

    def part(self, number: int) -> Part:
        """What is known of a part."""
        return self.entry.parts[number]

    def read(self, number: int) -> bytes:
        """The bytes of a part."""
        return self._opened.read(number)

    def array(self, number: int) -> Array:
        """A part that is an array. Raises JournalError for what is none."""
        part = self.entry.parts[number]
        try:
            dtype = np.dtype(part.dtype)
            if dtype.kind not in "biuf":
                raise TypeError(f"{part.dtype} holds no numbers")
            return np.frombuffer(self.read(number), dtype).reshape(part.shape)
        except (TypeError, ValueError) as error:
            raise JournalError(f"a part of it is no array: {error}") from error

    def keep(self, data: bytes, ext: str, *, meta: dict[str, Any]) -> MediaItem:
        """Make a file of these bytes. Raises NotKept, OSError."""
        digest = hashlib.sha256(data).hexdigest()
        self._keep(f"{digest}.{ext}", len(data), lambda fd: _write(fd, data))
        return MediaItem(digest=digest, ext=ext, size=len(data), meta=_as_text(meta))

    def keep_part(self, number: int, ext: str, *, meta: dict[str, Any]) -> MediaItem:
        """Make a file of a part as it is, however large. Raises NotKept, OSError."""
        size = self.entry.parts[number].size
        make_private(os.path.join(self.directory, FOLDER))
        with _temporary(self.directory) as (fd, path):
            self._check_room(size)
            self._opened.copy(number, fd)
            digest = _digest(fd)
            os.fdatasync(fd)
            os.replace(path, os.path.join(self.directory, FOLDER, f"{digest}.{ext}"))
        self._used += size
        return MediaItem(digest=digest, ext=ext, size=size, meta=_as_text(meta))

    def keep_beside(self, data: bytes, name: str) -> None:
        """A file that is made of a medium and goes with it, such as its small picture. Raises NotKept, OSError."""
        self._keep(name, len(data), lambda fd: _write(fd, data))

    def _keep(self, name: str, size: int, write: Callable[[int], None]) -> None:
        target = os.path.join(self.directory, FOLDER, name)
        with contextlib.suppress(OSError):
            if os.stat(target).st_size == size:
                return  # the same bytes are kept once
        make_private(os.path.dirname(target))
        self._check_room(size)
        with _temporary(self.directory) as (fd, path):
            write(fd)
            os.fdatasync(fd)
            os.replace(path, target)
        self._used += size

    def _check_room(self, size: int) -> None:
        if self._limit_bytes < 0:
            return
        if self._used < 0:
            self._used = used_bytes(self.directory)
        if self._used + size > self._limit_bytes * SHARE_OF_LIMIT:
            raise NotKept(
                f"the run's limit of {self._limit_bytes:,} bytes leaves no room for media; HOLTER_DISK_LIMIT raises it"
            )


def _as_text(meta: dict[str, Any]) -> str:
    text = msgspec.json.encode(meta)
    return text.decode() if len(text) <= MOST_META_BYTES else "{}"


@contextlib.contextmanager
def _temporary(directory: str) -> Iterator[tuple[int, str]]:
    path = os.path.join(directory, FOLDER, f".{os.urandom(8).hex()}{PARTIAL}")
    fd = os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o600)
    try:
        yield fd, path
    finally:
        os.close(fd)
        with contextlib.suppress(OSError):
            os.unlink(path)


def _write(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def _digest(fd: int) -> str:
    digest = hashlib.sha256()
    at = 0
    while data := os.pread(fd, _CHUNK_BYTES, at):
        digest.update(data)
        at += len(data)
    return digest.hexdigest()
