"""Files beside the journals in a run's directory: each is replaced as a whole, or stays as it was."""

import contextlib
import errno
import os
import stat
from collections.abc import Iterator
from typing import BinaryIO

import msgspec

from holter.journal.rundir import make_private, used_bytes

FOLDER = "files"
"""Where copies of users' files lie, with the names that they have below their base."""
PARTIAL = ".partial"
MOST_FILES = 10_000
# Rows are worth more than copies: those end a good deal before the run's limit.
SHARE_OF_LIMIT = 0.8
CHUNK_BYTES = 1 << 20
# Of Linux, since 4.5: share the blocks of a file until one of the two is written to (btrfs, XFS, bcachefs, NFS 4.2).
FICLONE = 0x40049409
CANT_CLONE = frozenset({errno.EOPNOTSUPP, errno.EXDEV, errno.EINVAL, errno.ENOTTY, errno.ENOSYS, errno.EPERM})


class Match(msgspec.Struct, frozen=True):
    """A user's file that is to be kept, as it was when somebody looked."""

    source: str
    name: str
    """Its place below `files`."""
    bytes: int
    changed_ns: int

    def target(self, directory: str) -> str:
        """Where its copy lies in a run's directory."""
        return os.path.join(directory, FOLDER, self.name)


def find_matches(pattern: str, base: str, *, directory: str) -> list[Match]:
    """The regular files below `base` that fit, ten thousand at most; `**` stands for any number of folders.

    What lies in the run's own directory is kept already and left out.
    """
    own = os.path.realpath(directory) + os.sep
    found = []
    for name in _names(pattern, base):
        source = os.path.join(base, name)
        with contextlib.suppress(OSError):  # it went away, or nobody may look at it
            status = os.stat(source)
            if stat.S_ISREG(status.st_mode) and not os.path.realpath(source).startswith(own):
                found.append(Match(source, name, status.st_size, status.st_mtime_ns))
        if len(found) >= MOST_FILES:
            break
    return found


def _names(pattern: str, base: str) -> Iterator[str]:
    if os.path.isfile(os.path.join(base, pattern)):  # also one whose name reads like a pattern
        yield pattern
        return
    import glob  # a millisecond that only those pay who save by a pattern

    yield from glob.iglob(pattern, root_dir=base, recursive=True)


def is_kept(match: Match, directory: str) -> bool:
    """Whether the copy is of the file as it is."""
    try:
        status = os.stat(match.target(directory))
    except OSError:
        return False
    return (status.st_size, status.st_mtime_ns) == (match.bytes, match.changed_ns)


def free_bytes(directory: str, limit_bytes: int) -> int:
    """How much a run's limit leaves to copies; below zero for a run that has more than enough, huge without a limit."""
    if limit_bytes < 0:
        return 1 << 62
    return int(limit_bytes * SHARE_OF_LIMIT) - used_bytes(directory)


class _Torn(Exception):
    """The file was written to while it was copied."""


def keep(match: Match, directory: str, *, only_whole: bool = False) -> bool:
    """Copy a file; true where it did not change meanwhile. Until the new copy is there the one before stays.

    With `only_whole` it stays also where the new one would not be the file as it was at any time. Raises OSError.
    """
    if clone(match, directory):
        return True
    try:
        return _copy(match, directory, only_whole=only_whole)
    except _Torn:
        return False


def _copy(match: Match, directory: str, *, only_whole: bool) -> bool:
    target = match.target(directory)
    make_private(os.path.dirname(target))
    with _opened(match.source) as source, _replacing(target) as fd:
        before = os.fstat(source.fileno())
        while chunk := source.read(CHUNK_BYTES):
            _write(fd, chunk)
        after = os.fstat(source.fileno())
        os.utime(fd, ns=(after.st_atime_ns, after.st_mtime_ns))
        is_whole = (before.st_size, before.st_mtime_ns) == (after.st_size, after.st_mtime_ns)
        if only_whole and not is_whole:
            raise _Torn
    return is_whole


def clone(match: Match, directory: str) -> bool:
    """Share the file's blocks, whatever its size in an instant; false where the file systems can't. Raises OSError."""
    import fcntl

    target = match.target(directory)
    make_private(os.path.dirname(target))
    try:
        with _opened(match.source) as source, _replacing(target) as fd:
            fcntl.ioctl(fd, FICLONE, source.fileno())
            status = os.fstat(source.fileno())
            os.utime(fd, ns=(status.st_atime_ns, status.st_mtime_ns))
    except OSError as error:
        if error.errno in CANT_CLONE:
            return False
        raise
    return True


def replace_file(path: str, data: bytes) -> None:
    """Write a file that only its owner may read, in one step for whoever looks. Raises OSError."""
    with _replacing(path) as fd:
        _write(fd, data)


def replace_for_good(path: str, data: bytes) -> None:
    """The same, and the machine may die at any moment: then there is the old file or the new one. Raises OSError."""
    with _replacing(path) as fd:
        _write(fd, data)
        os.fsync(fd)


def replace_if_changed(path: str, data: bytes) -> bool:
    """The same, but a file that says so already is left alone. True where it was written. Raises OSError."""
    with contextlib.suppress(OSError):
        if os.stat(path).st_size == len(data):
            with open(path, "rb") as file:
                if file.read() == data:
                    return False
    replace_file(path, data)
    return True


def remove_partial(directory: str) -> None:
    """Delete what processes that died in the middle of a copy left. For a run in which nobody copies any more."""
    for folder, _, names in os.walk(directory):
        for name in names:
            if name.startswith(".") and name.endswith(PARTIAL):
                with contextlib.suppress(OSError):
                    os.unlink(os.path.join(folder, name))


@contextlib.contextmanager
def _replacing(path: str) -> Iterator[int]:
    """A new file that takes the place of another at the end of the block, unless that raises."""
    folder, name = os.path.split(path)
    temporary = os.path.join(folder, f".{name[:200]}.{os.urandom(4).hex()}{PARTIAL}")
    fd = os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600)
    try:
        yield fd
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
    finally:
        os.close(fd)


def _opened(path: str) -> BinaryIO:
    # What was a file a moment ago may be a pipe now: opening it must not wait for a writer.
    return open(os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK), "rb")


def _write(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]
