"""The spool of a run: copies that the training process left, for a worker to make files of; each is whole or absent.

Each is `HOLTSPL1`, the length of its head (32 bits), the head as MessagePack, and the bytes of its parts.
"""

import contextlib
import os
import struct
from collections.abc import Sequence
from typing import Any

import msgspec

from holter.errors import JournalError
from holter.journal.rundir import make_private

FOLDER = "spool"
FAILED = "failed"
"""A folder in it: what no worker could make anything of."""
ENDING = ".spool"
MAGIC = b"HOLTSPL1"
MOST_HEAD_BYTES = 64 << 20
PARTIAL = ".partial"
_LENGTH = struct.Struct("<I")
_CHUNK_BYTES = 8 << 20


class Part(msgspec.Struct, frozen=True, omit_defaults=True):
    """A stretch of bytes; an array where it has a type."""

    size: int
    dtype: str = ""
    shape: tuple[int, ...] = ()


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be made: `kind` names the file of `holter.worker.kinds` that does it."""

    kind: str
    key: str
    step: int
    at_ns: int
    about: dict[str, Any]
    """What the worker needs to know beside the bytes."""
    parts: tuple[Part, ...] = ()
    place: str = "row"


class FilePart(msgspec.Struct, frozen=True):
    """A part that is to be copied from a file."""

    path: str
    size: int


Bytes = bytes | bytearray | memoryview
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Entry).decode


def spool_of(directory: str) -> str:
    """Where the spool of a run's directory is."""
    return os.path.join(directory, FOLDER)


def write_entry(directory: str, name: str, entry: Entry, /, sources: Sequence[Bytes | FilePart]) -> int:
    """Leave a copy of all of it; returns its bytes. When it returns that survives the process. Raises OSError."""
    folder = spool_of(directory)
    make_private(folder)
    head = _encode(entry)
    temporary = os.path.join(folder, f".{name}{PARTIAL}")
    fd = os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600)
    try:
        total = _write(fd, MAGIC + _LENGTH.pack(len(head)) + head)
        for part, source in zip(entry.parts, sources, strict=True):
            copied = _copy(fd, source) if isinstance(source, FilePart) else _write(fd, source)
            if copied != part.size:
                raise OSError(f"{copied:,} of {part.size:,} bytes could be copied: the file changed meanwhile")
            total += copied
        os.rename(temporary, os.path.join(folder, name))
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
    finally:
        os.close(fd)
    return total


def list_entries(directory: str) -> list[str]:
    """The names of what waits, the oldest first."""
    try:
        return sorted(name for name in os.listdir(spool_of(directory)) if name.endswith(ENDING))
    except OSError:
        return []


def spooled_bytes(directory: str) -> int:
    """What the spool takes on the disk."""
    total = 0
    with contextlib.suppress(OSError), os.scandir(spool_of(directory)) as found:
        for each in found:
            with contextlib.suppress(OSError):
                total += each.stat().st_size if each.is_file(follow_symlinks=False) else 0
    return total


class OpenEntry:
    """An entry whose parts can be read; the caller closes it. Raises JournalError for what is not whole, OSError."""

    def __init__(self, directory: str, name: str) -> None:
        self._file = open(os.path.join(spool_of(directory), name), "rb")  # noqa: SIM115  closed by `close`
        try:
            self.entry, start = _read_head(self._file.fileno())
            self._starts = [start]
            for part in self.entry.parts:
                self._starts.append(self._starts[-1] + part.size)
            if os.fstat(self._file.fileno()).st_size != self._starts[-1]:
                raise JournalError(f"{name} is not whole")
        except BaseException:
            self._file.close()
            raise

    def read(self, number: int) -> bytes:
        """The bytes of a part."""
        self._file.seek(self._starts[number])
        return self._file.read(self.entry.parts[number].size)

    def copy(self, number: int, fd: int) -> None:
        """Write the bytes of a part elsewhere, without holding all of them."""
        at, stop = self._starts[number], self._starts[number + 1]
        while at < stop:
            at += _write(fd, os.pread(self._file.fileno(), min(_CHUNK_BYTES, stop - at), at))

    def close(self) -> None:
        """Idempotent."""
        self._file.close()


def _read_head(fd: int) -> tuple[Entry, int]:
    start = os.pread(fd, len(MAGIC) + _LENGTH.size, 0)
    if len(start) != len(MAGIC) + _LENGTH.size or not start.startswith(MAGIC):
        raise JournalError("it does not begin as an entry of the spool does")
    [length] = _LENGTH.unpack(start[len(MAGIC) :])
    if length > MOST_HEAD_BYTES:
        raise JournalError("its head is longer than any")
    try:
        entry = _decode(os.pread(fd, length, len(start)))
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise JournalError(f"its head can't be read: {error}") from error
    if any(part.size < 0 for part in entry.parts):
        raise JournalError("it has parts of less than nothing")
    return entry, len(start) + length


def _write(fd: int, data: Bytes) -> int:
    view = memoryview(data).cast("B") if not isinstance(data, bytes) else memoryview(data)
    size = len(view)
    while view:
        view = view[os.write(fd, view) :]
    return size


def _copy(fd: int, source: FilePart) -> int:
    """Within Linux where it can; the blocks are shared where the file system can."""
    copied = 0
    # What was a file a moment ago may be a pipe now: opening it must not wait for a writer.
    from_fd = os.open(source.path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        while copied < source.size:
            try:
                count = os.copy_file_range(from_fd, fd, source.size - copied)
            except OSError:  # between some file systems it can't
                count = _write(fd, os.pread(from_fd, min(_CHUNK_BYTES, source.size - copied), copied))
                os.lseek(from_fd, copied + count, os.SEEK_SET)
            if count <= 0:
                break
            copied += count
    finally:
        os.close(from_fd)
    return copied
