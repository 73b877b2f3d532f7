"""Blobs in an object store, each an object named by its digest; what is being received lies beside them in pieces."""

import hashlib
import time
from collections.abc import Iterator, Mapping

from holter.errors import DigestMismatch, NoBlob
from holter.storage.objects.bucket import Bucket, Found
from holter.storage.tables.blob_names import BlobNames, check_digest

# Whoever began to send a blob and did not come back for so long does not: its file has changed since.
ABANDONED_S = 7 * 86400.0
STAGING = "staging/"
# So much of a blob is put together in memory; a larger one is read again as it is written.
_AT_ONCE = 8 << 20


class ObjectBlobs:
    """The port `BlobStore`. A piece is `staging/DIGEST/START-STOP`; any server takes the next one."""

    def __init__(self, bucket: Bucket, names: BlobNames) -> None:
        self._bucket = bucket
        self._names = names
        self._is_swept = False

    def stage(self, digest: str, data: bytes, *, offset: int) -> int:
        """Add bytes of a blob that is being received."""
        self._sweep()
        if (size := self.size(digest)) is not None:
            return size
        pieces = self._pieces(digest)
        have = _end(pieces)
        stop = offset + len(data)
        if offset > have or (stop <= have and pieces):
            return have
        self._bucket.put(f"{STAGING}{digest}/{have:020}-{stop:020}", data[have - offset :])
        return stop

    def seal(self, digest: str) -> None:
        """Make the blob readable."""
        if self.size(digest) is not None:
            return
        pieces = self._pieces(digest)
        try:
            self._put_together(digest, pieces)
        except (FileNotFoundError, DigestMismatch) as error:
            # Whoever seals the same meanwhile removes the pieces one after the other: what was listed may be a rest.
            if self.size(digest) is None:
                if isinstance(error, FileNotFoundError):
                    raise DigestMismatch(f"what was staged for blob {digest} is gone: send it again") from None
                self._forget(pieces)
                raise
        self._forget(pieces)

    def size(self, digest: str) -> int | None:
        """The size of a sealed blob."""
        return self._bucket.size(_name(digest))

    def read(self, digest: str, *, start: int = 0, count: int | None = None) -> bytes:
        """Bytes of a sealed blob."""
        try:
            if not start and count is None:
                return self._bucket.read(_name(digest))
        except FileNotFoundError:
            raise NoBlob(f"there is no blob {digest}") from None
        size = self.size(digest)
        if size is None:
            raise NoBlob(f"there is no blob {digest}")
        stop = size if count is None else min(size, start + count)
        return self._bucket.read(_name(digest), start=start, stop=stop) if start < stop else b""

    def attach(self, run: str, names: Mapping[str, str]) -> None:
        """Give blobs names in a run."""
        self._names.attach(run, names, is_there=lambda digest: self.size(digest) is not None)

    def attached(self, run: str) -> dict[str, str]:
        """The digests of a run's blobs by name."""
        return self._names.attached(run)

    def delete(self, run: str) -> None:
        """Forget the run's names, and the blobs that nobody else names."""
        self._names.delete(run, remove=lambda digest: self._bucket.remove(_name(digest)))

    def close(self) -> None:
        """Idempotent."""
        self._names.close()

    def _sweep(self) -> None:
        """Once, and not before somebody sends something: a server begins also while the store is away."""
        if not self._is_swept:
            old = [each.name for each in self._bucket.list(STAGING) if time.time() - each.changed_s > ABANDONED_S]
            self._bucket.remove(*old)
            self._is_swept = True

    def _pieces(self, digest: str) -> list[Found]:
        return self._bucket.list(f"{STAGING}{digest}/")

    def _forget(self, pieces: list[Found]) -> None:
        self._bucket.remove(*(piece.name for piece in pieces))

    def _put_together(self, digest: str, pieces: list[Found]) -> None:
        if not pieces:
            raise DigestMismatch(f"nothing was staged for blob {digest}: send its bytes first")
        data = self._bytes_of(pieces)
        if _end(pieces) <= _AT_ONCE:
            whole = b"".join(data)
            _expect(digest, hashlib.sha256(whole).hexdigest())
            self._bucket.put(_name(digest), whole)
        else:
            self._bucket.put(_name(digest), _checked(digest, data))

    def _bytes_of(self, pieces: list[Found]) -> Iterator[bytes]:
        """One after the other; where two servers took the same bytes, once. Raises FileNotFoundError."""
        have = 0
        for piece in pieces:
            start, stop = _range(piece)
            if start <= have < stop or not stop:
                yield self._bucket.read(piece.name)[have - start :]
                have = stop


def _checked(digest: str, data: Iterator[bytes]) -> Iterator[bytes]:
    """The bytes, if that is their digest: else it raises before the last of them are written, and nothing is."""
    found = hashlib.sha256()
    for each in data:
        found.update(each)
        yield each
    _expect(digest, found.hexdigest())


def _expect(digest: str, found: str) -> None:
    if found != digest:
        raise DigestMismatch(f"what was staged for blob {digest} has the digest {found}: send it again from the start")


def _end(pieces: list[Found]) -> int:
    """Up to where there is a piece of each byte."""
    have = 0
    for piece in pieces:
        start, stop = _range(piece)
        if start <= have:
            have = max(have, stop)
    return have


def _range(piece: Found) -> tuple[int, int]:
    start, _, stop = piece.name.rpartition("/")[2].partition("-")
    return int(start), int(stop)


def _name(digest: str) -> str:
    check_digest(digest)
    return f"blobs/{digest[:2]}/{digest[2:]}"
