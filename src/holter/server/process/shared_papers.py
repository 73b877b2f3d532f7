"""The small files of a data directory that other servers must have alike: who may come in, what was deleted."""

import contextlib
import os
import threading
import time
from collections.abc import Callable, Collection, Iterator

import msgspec

from holter.alerts.file import FILE as ALERTS
from holter.errors import StorageError
from holter.journal.kept_files import PARTIAL, replace_file
from holter.journal.rundir import make_private
from holter.server.security.owners import OWNERS
from holter.server.security.private_files import locked
from holter.storage.papers import Paper, PaperStore

FILES = ("access/keys.json", "access/people.json", "access/secret", ALERTS)
FOLDERS = ("access/ended-sessions", "deleted")
"""Whole folders; what is in none of these is told by who changes it."""
KNOWN = "access/.shared.json"
"""What was the same everywhere when somebody looked last: what differs was changed here since."""
SETTLED_NS = 2_000_000_000
"""A folder may change again in the moment in which its time was read."""
AT_ONCE = 500
EVERY_S = 1.0

Stamp = tuple[int, int, int] | None
"""Of a file as it was when it was last the same everywhere; None where there is none."""
_decode = msgspec.json.Decoder(dict[str, tuple[int, Stamp]]).decode


class SharedPapers:
    """Thread-safe. What others change is here with the next look; what is changed here is there at once, where who
    changes it says so, and else with the next look. Who changes what others may change as well does it `alone`."""

    def __init__(self, data: str, store: PaperStore) -> None:
        self._data = data
        self._store = store
        self._lock = threading.RLock()
        self._known = _read_known(os.path.join(data, KNOWN))
        self._is_known_kept = True
        self._folders: dict[str, int] = {}
        self._since_s = 0.0
        self._owners: dict[str, int] = {}
        self._learn: Callable[[bytes], None] | None = None

    def follow(self, learn: Callable[[bytes], None]) -> None:
        """Have somebody told whose a run is, where other servers say so, now and from now on. Raises StorageError."""
        with self._lock:
            self._learn, self._since_s = learn, 0.0
            self.look()

    def look(self) -> None:
        """Take in what others changed, then tell what was changed here. Raises StorageError, OSError."""
        with self._lock:
            versions, next_s = self._store.changed(self._since_s)
            self._pull([name for name, version in versions.items() if self._version(name) < version])
            self._since_s = next_s
            for name in self._names():
                self._push(name)
            if not self._is_known_kept:
                path = os.path.join(self._data, KNOWN)
                make_private(os.path.dirname(path))
                replace_file(path, msgspec.json.encode(self._known))
                self._is_known_kept = True

    @contextlib.contextmanager
    def alone(self, path: str) -> Iterator[None]:
        """Within this no other server changes a file; it is as the last one left it. Raises StorageError, OSError."""
        name = os.path.relpath(path, self._data)
        with self._lock, self._store.alone(name), locked(path):
            self._push(name)
            self._pull([name])
            yield
            self._push(name)

    def newest(self, path: str) -> None:
        """Have a file as it is at this moment. Raises StorageError, OSError."""
        with self._lock:
            self._pull([os.path.relpath(path, self._data)])

    def tell(self, path: str) -> None:
        """A file was changed or removed here. Raises StorageError, OSError."""
        with self._lock:
            self._push(os.path.relpath(path, self._data))

    def add(self, name: str, data: bytes) -> bytes | None:
        """Say something that can be said once; returns what another server has said before. Raises StorageError."""
        # Without our lock: who asks has one of their own, which `learn` wants while we have ours.
        if version := self._store.put(name, data, at_ns=0, before=0):
            self._owners[name] = version
            return None
        paper = self._store.read([name])[name]
        self._owners[name] = paper.version
        return paper.data

    def put(self, name: str, data: bytes) -> None:
        """Say it anew. Raises StorageError."""
        found = self._store.read([name])
        version = found[name].version if name in found else 0
        self._owners[name] = self._store.put(name, data, at_ns=0, before=version) or version

    def has(self, name: str) -> bool:
        """Whether somebody has said it, as far as this server knows."""
        return name in self._owners

    def close(self) -> None:
        """Idempotent."""
        self._store.close()

    def _names(self) -> list[str]:
        """The files that may have changed here: those that there are, and those that there were."""
        quiet = tuple(f"{folder}/" for folder in FOLDERS if self._is_quiet(folder))
        found = {name for name, (_, stamp) in self._known.items() if stamp is not None and not name.startswith(quiet)}
        found.update(FILES)
        for folder in FOLDERS:
            if f"{folder}/" not in quiet:
                with contextlib.suppress(FileNotFoundError), os.scandir(os.path.join(self._data, folder)) as entries:
                    found.update(f"{folder}/{each.name}" for each in entries if _is_whole(each.name))
        return sorted(found)

    def _is_quiet(self, folder: str) -> bool:
        """Whether no file of it came, went or was replaced since the last look."""
        try:
            changed_ns = os.stat(os.path.join(self._data, folder)).st_mtime_ns
        except FileNotFoundError:
            changed_ns = -1
        if self._folders.get(folder) == changed_ns:
            return True
        if time.time_ns() - changed_ns > SETTLED_NS:
            self._folders[folder] = changed_ns
        return False

    def _version(self, name: str) -> int:
        if name.startswith(OWNERS):
            return self._owners.get(name, 0)
        return self._known[name][0] if name in self._known else 0

    def _pull(self, names: Collection[str]) -> None:
        waiting = [name for name in names if self._learn is not None or not name.startswith(OWNERS)]
        while waiting:
            some, waiting = waiting[:AT_ONCE], waiting[AT_ONCE:]
            for name, paper in self._store.read(some).items():
                if paper.version > self._version(name):
                    self._keep(name, paper)

    def _keep(self, name: str, paper: Paper) -> None:
        if name.startswith(OWNERS):
            if paper.data is not None and self._learn is not None:
                self._learn(paper.data)
            self._owners[name] = paper.version
            return
        path = os.path.join(self._data, name)
        if paper.data is None:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)
        else:
            make_private(os.path.dirname(path))
            replace_file(path, paper.data)
            os.utime(path, ns=(paper.at_ns, paper.at_ns))
        self._note(name, paper.version, self._stamp(name))

    def _push(self, name: str) -> None:
        stamp = self._stamp(name)
        if stamp == (self._known[name][1] if name in self._known else None):
            return
        try:
            with open(os.path.join(self._data, name), "rb") as file:
                data: bytes | None = file.read()
        except FileNotFoundError:
            data = None
        before = self._version(name)
        version = self._store.put(name, data, at_ns=stamp[0] if stamp else 0, before=before)
        if version:
            self._note(name, version, stamp)
        else:  # another server was quicker: what it says holds
            self._pull([name])

    def _note(self, name: str, version: int, stamp: Stamp, /) -> None:
        self._known[name] = (version, stamp)
        self._is_known_kept = False

    def _stamp(self, name: str) -> Stamp:
        try:
            status = os.stat(os.path.join(self._data, name))
        except FileNotFoundError:
            return None
        return status.st_mtime_ns, status.st_ino, status.st_size


def _read_known(path: str) -> dict[str, tuple[int, Stamp]]:
    """Where it can't be read, what all servers have is taken over."""
    try:
        with open(path, "rb") as file:
            return _decode(file.read())
    except (FileNotFoundError, msgspec.MsgspecError):
        return {}


def _is_whole(name: str) -> bool:
    return not name.startswith(".") and not name.endswith((PARTIAL, ".lock"))


class Sharing(threading.Thread):
    """Looks once a second, in each of some ways."""

    def __init__(self, looks: Collection[Callable[[], None]], complain: Callable[[str], None]) -> None:
        super().__init__(name="holter-papers", daemon=True)
        self._looks = looks
        self._complain = complain
        self._is_leaving = threading.Event()

    def run(self) -> None:
        """Until `close`."""
        while not self._is_leaving.wait(EVERY_S):
            for look in self._looks:
                try:
                    look()
                except (StorageError, OSError) as error:
                    self._complain(str(error))

    def close(self) -> None:
        """End the thread and wait for it. Idempotent."""
        self._is_leaving.set()
        if self.is_alive():
            self.join()
