"""Books of sweeps in a data directory: a file of checksummed lines each, to which processes and hosts add by turns."""

import contextlib
import errno
import fcntl
import os
import zlib
from collections.abc import Callable, Iterator

from holter.errors import JournalError, NoSweep
from holter.journal.kept_files import PARTIAL, replace_file
from holter.journal.rundir import make_private, sync_directory
from holter.storage.sweeps import Heard, Lines

FOLDER = "sweeps"
NAME = "book.jsonl"


class DirectorySweeps:
    """The port `SweepStore` below `sweeps` of a data directory, which may be on a shared file system."""

    def __init__(self, data: str) -> None:
        self._data = data
        self._folder = os.path.join(data, FOLDER)

    def names(self) -> list[str]:
        """The sweeps that there are."""
        found = os.listdir(self._folder) if os.path.isdir(self._folder) else []
        return [name for name in found if self._has(name)]

    def begin(self, sweep: str, lines: list[bytes]) -> None:
        """Make a book."""
        directory = os.path.join(self._folder, sweep)
        if os.path.exists(directory):
            raise FileExistsError(errno.EEXIST, "there is such a sweep", directory)
        hidden = os.path.join(self._folder, f".{sweep}")
        make_private(hidden)
        DirectoryBook(hidden).append(0, lambda before: lines)
        os.rename(hidden, directory)
        sync_directory(self._folder)

    def open(self, sweep: str) -> "DirectoryBook":
        """A book."""
        if not self._has(sweep):
            raise NoSweep(f"there is no sweep {sweep!r} in {self._data}: `holter sweep ls` lists them")
        return DirectoryBook(os.path.join(self._folder, sweep))

    def close(self) -> None:
        """Nothing is open between two calls."""

    def _has(self, sweep: str) -> bool:
        return sweep.isalnum() and os.path.exists(os.path.join(self._folder, sweep, NAME))


class DirectoryBook:
    """The port `SweepBook`. A line counts once it is whole: what a writer left half written the next one cuts off."""

    def __init__(self, directory: str) -> None:
        self._directory = directory
        self._path = os.path.join(directory, NAME)

    def read(self, start: int) -> Lines:
        """What there is from a place on."""
        with open(self._path, "rb") as file:
            return self._read(file.fileno(), start)

    def append(self, start: int, make: Callable[[Lines], list[bytes]]) -> int:
        """Add what follows."""
        fd = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX)
            before = self._read(fd, start)
            data = b"".join(map(_as_line, make(before)))
            if data:
                os.ftruncate(fd, before.stop)
                view = memoryview(data)
                while view:
                    view = view[os.write(fd, view) :]
                os.fdatasync(fd)
        finally:
            os.close(fd)
        return before.stop + len(data)

    @contextlib.contextmanager
    def turn(self) -> Iterator[None]:
        """One at a time."""
        fd = os.open(os.path.join(self._directory, "turn.lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX)
            yield
        finally:
            os.close(fd)

    def hear(self, agent: str, data: bytes, *, at_ns: int) -> None:
        """Replace what an agent said last."""
        os.makedirs(self._agents, mode=0o700, exist_ok=True)
        path = os.path.join(self._agents, f"{agent}.json")
        replace_file(path, data)
        os.utime(path, ns=(at_ns, at_ns))

    def heard(self) -> list[Heard]:
        """What each agent said last."""
        names = os.listdir(self._agents) if os.path.isdir(self._agents) else []
        found = []
        for name in names:
            with contextlib.suppress(FileNotFoundError):
                if not name.endswith(PARTIAL):
                    found.append(_heard(os.path.join(self._agents, name)))
        return found

    @property
    def _agents(self) -> str:
        return os.path.join(self._directory, "agents")

    def _read(self, fd: int, start: int) -> Lines:
        size, found = os.fstat(fd).st_size, list[bytes]()
        while start < size:
            data = os.pread(fd, max(1 << 20, size - start), start)
            whole = data.rfind(b"\n") + 1
            if not data or not whole:
                break
            lines = data[:whole].splitlines(keepends=True)
            for place, line in enumerate(lines):
                body = line[9:-1]
                if line[:9] != b"%08x " % zlib.crc32(body):
                    if place + 1 == len(lines) and start + len(line) == size:
                        return Lines(found, start)  # torn by a crash of the machine: the next writer cuts it off
                    raise JournalError(f"{self._path} is damaged at byte {start:,}: restore it from a copy")
                found.append(body)
                start += len(line)
        return Lines(found, start)


def _as_line(body: bytes) -> bytes:
    return b"%08x %b\n" % (zlib.crc32(body), body)


def _heard(path: str) -> Heard:
    with open(path, "rb") as file:
        return Heard(file.read(), os.fstat(file.fileno()).st_mtime_ns)
