"""Where a backup goes: a new directory, or objects in a bucket, each file one by its name; and back from there."""

import contextlib
import hashlib
import itertools
import os
import shutil
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, NamedTuple, Protocol

import msgspec

from holter.catalog.change.trash import TRASH
from holter.errors import StorageError, UsageError
from holter.journal.rundir import make_private
from holter.storage.opening import load_engine

if TYPE_CHECKING:
    from holter.storage.objects.bucket import Bucket

LIST = "holter-backup.json"
"""The object that is written last: what has none is no backup."""
PIECE_BYTES = 4 << 20
AT_ONCE = 8
Pieces = Callable[[], Iterable[bytes]]


class Kept(msgspec.Struct, frozen=True):
    """A file of a backup."""

    name: str
    size: int
    sha256: str
    changed_ns: int


class _File(NamedTuple):
    """One that is to be kept."""

    name: str
    pieces: Pieces
    changed_ns: int


class Copy(Protocol):
    """A backup that is being made."""

    copied_bytes: int

    def keep(self, name: str, pieces: Pieces, *, changed_ns: int) -> None:
        """Keep a file, soon; one that is removed meanwhile is left out. Raises StorageError, OSError."""

    def finish(self) -> None:
        """Wait until what was given is kept. Raises StorageError, OSError."""


@contextlib.contextmanager
def copy_at(target: str) -> Iterator[Copy]:
    """A copy that has its name only when the block has ended well. Raises UsageError, StorageError, OSError."""
    if is_bucket(target):
        bucket = _bucket(target)
        if bucket.size(LIST) is not None:
            raise UsageError(f"{bucket.shown} has a backup: another one needs a folder of its own")
        copy = _BucketCopy(bucket)
        with contextlib.closing(copy):
            yield copy
            copy.complete()
        return
    if os.path.exists(target):
        raise UsageError(f"{target} exists: a backup needs a name of its own")
    partial = _partial(target)
    try:
        yield _DirectoryCopy(partial)
        os.rename(partial, target)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise


def keep_tree(copy: Copy, source: str, name: str, /, *, leave: str = "") -> None:
    """Keep all files below a directory, which need not be there, but those of a name."""
    for folder, folders, names in os.walk(source):
        folders[:] = [each for each in folders if each != "staging" and not each.startswith(TRASH)]
        for each in names:
            path = os.path.join(folder, each)
            if each != leave and not os.path.islink(path):
                with contextlib.suppress(FileNotFoundError):
                    keep_file(copy, path, os.path.normpath(os.path.join(name, os.path.relpath(path, source))))


def keep_file(copy: Copy, path: str, name: str, /) -> None:
    """Keep a file as far as it is there now. Raises FileNotFoundError."""
    status = os.stat(path)
    copy.keep(name, lambda: _read(path, status.st_size), changed_ns=status.st_mtime_ns)


def restore(source: str, target: str) -> int:
    """Make a data directory of a backup in a bucket, each file compared by its digest; returns how many bytes.

    Raises UsageError, StorageError, OSError.
    """
    if os.path.exists(target):
        raise UsageError(f"{target} exists: what is restored needs a name of its own")
    bucket = _bucket(source)
    try:
        kept = msgspec.json.decode(bucket.read(LIST), type=list[Kept])
    except FileNotFoundError:
        raise UsageError(f"{bucket.shown} has no {LIST}: there is no backup, or one that was not completed") from None
    partial = _partial(target)
    try:
        with ThreadPoolExecutor(AT_ONCE) as pool:
            try:
                list(pool.map(lambda each: _fetch(bucket, each, os.path.join(partial, each.name)), kept))
            except BaseException:
                pool.shutdown(cancel_futures=True)
                raise
        os.rename(partial, target)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise
    return sum(each.size for each in kept)


class _DirectoryCopy:
    def __init__(self, directory: str) -> None:
        self.copied_bytes = 0
        self._directory = directory

    def keep(self, name: str, pieces: Pieces, *, changed_ns: int) -> None:
        place = os.path.join(self._directory, name)
        found = iter(pieces())
        try:
            first = next(found, b"")
        except FileNotFoundError:
            return
        make_private(os.path.dirname(place))
        with open(os.open(place, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o600), "wb") as file:
            for piece in itertools.chain((first,), found):
                self.copied_bytes += file.write(piece)
        os.utime(place, ns=(changed_ns, changed_ns))

    def finish(self) -> None:
        """It keeps one after the other."""


class _BucketCopy:
    """Sends several files at once."""

    def __init__(self, bucket: "Bucket") -> None:
        self.copied_bytes = 0
        self._bucket = bucket
        self._pool = ThreadPoolExecutor(AT_ONCE)
        self._room = threading.Semaphore(4 * AT_ONCE)
        self._sent: list[Future[Kept | None]] = []

    def keep(self, name: str, pieces: Pieces, *, changed_ns: int) -> None:
        self._room.acquire()
        self._sent.append(self._pool.submit(self._send, _File(name, pieces, changed_ns)))

    def finish(self) -> None:
        for each in self._sent:
            each.result()

    def complete(self) -> None:
        kept = [found for each in self._sent if (found := each.result()) is not None]
        self.copied_bytes = sum(each.size for each in kept)
        names = {LIST, *(each.name for each in kept)}
        left = [each.name for each in self._bucket.list("") if each.name not in names]
        self._bucket.remove(*left)  # by one that was not completed
        self._bucket.put(LIST, msgspec.json.encode(kept))

    def close(self) -> None:
        self._pool.shutdown(cancel_futures=True)

    def _send(self, file: _File) -> Kept | None:
        digest, size = hashlib.sha256(), 0

        def counted(found: Iterable[bytes]) -> Iterator[bytes]:
            nonlocal size
            for piece in found:
                digest.update(piece)
                size += len(piece)
                yield piece

        try:
            found = counted(file.pieces())
            first = next(found, b"")
            data = first if len(first) < PIECE_BYTES else itertools.chain((first,), found)
            self._bucket.put(file.name, data)
        except FileNotFoundError:
            return None
        finally:
            self._room.release()
        return Kept(file.name, size, digest.hexdigest(), file.changed_ns)


def _fetch(bucket: "Bucket", kept: Kept, place: str, /) -> None:
    make_private(os.path.dirname(place))
    digest = hashlib.sha256()
    with open(os.open(place, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o600), "wb") as file:
        for start in range(0, kept.size, PIECE_BYTES):
            try:
                piece = bucket.read(kept.name, start=start, stop=min(kept.size, start + PIECE_BYTES))
            except FileNotFoundError:
                raise StorageError(f"{bucket.shown}/{kept.name} is gone: restore an older backup") from None
            digest.update(piece)
            file.write(piece)
    if digest.hexdigest() != kept.sha256:
        raise StorageError(f"{bucket.shown}/{kept.name} is not what was written there: restore an older backup")
    os.utime(place, ns=(kept.changed_ns, kept.changed_ns))


def is_bucket(target: str) -> bool:
    """Whether it is no directory, but a URL."""
    return "://" in target


def _bucket(url: str) -> "Bucket":
    engine = load_engine(url)
    opener = getattr(engine, "open_bucket", None)
    if opener is None:
        raise UsageError(f"a backup is a directory, or s3://BUCKET/FOLDER, and not {url.partition(':')[0]}:")
    try:
        found: Bucket = opener(url)
    except ModuleNotFoundError as error:
        raise UsageError(f"{error.name} is not installed: pip install 'holter[s3]'") from error
    return found


def _read(path: str, size: int) -> Iterator[bytes]:
    with open(path, "rb") as file:
        left = size
        while left > 0 and (piece := file.read(min(left, PIECE_BYTES))):
            left -= len(piece)
            yield piece


def _partial(target: str) -> str:
    partial = f"{os.path.abspath(target)}.partial-{os.getpid()}"
    make_private(os.path.dirname(partial))
    os.mkdir(partial, 0o700)
    return partial
