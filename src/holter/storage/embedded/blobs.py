"""Blobs in a directory, each in a file named by its digest; the names that runs have for them in SQLite."""

import contextlib
import fcntl
import hashlib
import os
import time
from collections.abc import Iterator, Mapping
from typing import BinaryIO

from holter.errors import DigestMismatch, NoBlob
from holter.journal.rundir import make_private, sync_directory
from holter.storage.embedded.full_disk import full_disk_told
from holter.storage.tables.blob_names import BlobNames, check_digest

_CHUNK = 1 << 20
# Whoever began to send a blob and did not come back for so long does not: its file has changed since.
ABANDONED_S = 7 * 86400.0


class DirectoryBlobs:
    """The port `BlobStore`. A file is written under another name, synced, and renamed when it is complete."""

    def __init__(self, directory: str, names: BlobNames) -> None:
        self._directory = os.path.join(directory, "blobs")
        self._staging = os.path.join(self._directory, "staging")
        make_private(self._staging)
        _remove_abandoned(self._staging)
        self._names = names

    def stage(self, digest: str, data: bytes, *, offset: int) -> int:
        """Add bytes of a blob that is being received."""
        if (size := self.size(digest)) is not None:
            return size
        staged = self._staged(digest)
        with full_disk_told(self._staging), _alone_with(staged, os.O_CREAT) as file:
            if (size := self.size(digest)) is not None:  # somebody else sent it meanwhile
                os.unlink(staged)
                return size
            have = os.fstat(file.fileno()).st_size
            if offset > have or offset + len(data) <= have:
                return have
            _write_all(file, memoryview(data)[have - offset :], have)
            return offset + len(data)

    def seal(self, digest: str) -> None:
        """Make the blob readable."""
        if self.size(digest) is not None:
            return
        staged = self._staged(digest)
        try:
            with full_disk_told(self._directory), _alone_with(staged) as file:
                self._seal(digest, staged, file)
        except FileNotFoundError:
            if self.size(digest) is None:  # else somebody else was quicker
                raise DigestMismatch(f"nothing was staged for blob {digest}: send its bytes first") from None

    def _seal(self, digest: str, staged: str, file: BinaryIO) -> None:
        if self.size(digest) is not None:  # somebody else was quicker, and this is what a third one begins to send
            os.unlink(staged)
            return
        if (found := _digest_of(file)) != digest:
            os.unlink(staged)
            raise DigestMismatch(
                f"what was staged for blob {digest} has the digest {found}: send it again from the start"
            )
        os.fsync(file.fileno())
        target = self._path(digest)
        make_private(os.path.dirname(target))
        os.replace(staged, target)
        for folder in (os.path.dirname(target), self._directory):
            sync_directory(folder)

    def size(self, digest: str) -> int | None:
        """The size of a sealed blob."""
        try:
            return os.stat(self._path(digest)).st_size
        except FileNotFoundError:
            return None

    def read(self, digest: str, *, start: int = 0, count: int | None = None) -> bytes:
        """Bytes of a sealed blob."""
        try:
            with open(self._path(digest), "rb") as file:
                file.seek(start)
                return file.read(-1 if count is None else count)
        except FileNotFoundError:
            raise NoBlob(f"there is no blob {digest}") from None

    def attach(self, run: str, names: Mapping[str, str]) -> None:
        """Give blobs names in a run."""
        self._names.attach(run, names, is_there=lambda digest: self.size(digest) is not None)

    def attached(self, run: str) -> dict[str, str]:
        """The digests of a run's blobs by name."""
        return self._names.attached(run)

    def delete(self, run: str) -> None:
        """Forget the run's names, and the blobs that nobody else names."""
        self._names.delete(run, remove=self._remove)

    def close(self) -> None:
        """Idempotent."""
        self._names.close()

    def _remove(self, digest: str) -> None:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self._path(digest))

    def _path(self, digest: str) -> str:
        check_digest(digest)
        return os.path.join(self._directory, digest[:2], digest[2:])

    def _staged(self, digest: str) -> str:
        check_digest(digest)
        return os.path.join(self._staging, digest)


@contextlib.contextmanager
def _alone_with(path: str, flags: int = 0) -> Iterator[BinaryIO]:
    """A file that nobody else writes, seals or removes until the end of the block. Raises OSError."""
    while True:
        with open(os.open(path, os.O_RDWR | os.O_CLOEXEC | flags, 0o600), "r+b", buffering=0) as file:
            fcntl.flock(file.fileno(), fcntl.LOCK_EX)  # until it is closed
            # While we waited, it may have been sealed and so have become another file.
            if _is_at(path, file):
                yield file
                return


def _is_at(path: str, file: BinaryIO) -> bool:
    try:
        return os.path.samestat(os.stat(path), os.fstat(file.fileno()))
    except FileNotFoundError:
        return False


def _digest_of(file: BinaryIO) -> str:
    found = hashlib.sha256()
    while data := file.read(_CHUNK):
        found.update(data)
    return found.hexdigest()


def _write_all(file: BinaryIO, data: memoryview, at: int, /) -> None:
    try:
        done = 0
        while done < len(data):
            done += os.pwrite(file.fileno(), data[done:], at + done)
    except OSError:
        os.ftruncate(file.fileno(), at)
        raise


def _remove_abandoned(staging: str) -> None:
    with os.scandir(staging) as entries:
        for entry in entries:
            with contextlib.suppress(OSError):  # somebody else did
                if time.time() - entry.stat().st_mtime > ABANDONED_S:
                    os.unlink(entry.path)
