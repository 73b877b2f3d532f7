"""Settings in a directory: one small file for each owner in each project, replaced as a whole."""

import contextlib
import fcntl
import hashlib
import os
from collections.abc import Iterator

import msgspec

from holter.errors import StorageFailing
from holter.journal.kept_files import replace_for_good
from holter.journal.rundir import make_private, sync_directory
from holter.storage.embedded.full_disk import full_disk_told
from holter.storage.settings import Changes, Sets, merged

FOLDER = "settings"


class _File(msgspec.Struct, frozen=True):
    """The names are there for whoever looks into it: its own name is a digest of them."""

    project: str
    owner: str
    sets: Sets


_decode = msgspec.json.Decoder(_File).decode


class DirectorySettings:
    """The port `SettingStore`. A copy of the directory is a copy of the settings, also while it is used."""

    def __init__(self, directory: str) -> None:
        self._directory = os.path.join(directory, FOLDER)
        make_private(self._directory)

    def get(self, project: str, owner: str) -> Sets:
        """All sets of an owner in a project."""
        try:
            return self._read(self._path(project, owner)).sets
        except FileNotFoundError:
            return {}

    def _read(self, path: str) -> _File:
        try:
            with open(path, "rb") as file:
                return _decode(file.read())
        except msgspec.MsgspecError as error:
            raise StorageFailing(f"{path} can't be read as settings ({error}): restore it, or remove it") from error

    def owners(self) -> list[tuple[str, str]]:
        """All who have set something."""
        found = []
        for name in os.listdir(self._directory):
            if name.endswith(".json") and not name.startswith("."):
                each = self._read(os.path.join(self._directory, name))
                found.append((each.project, each.owner))
        return sorted(found)

    def merge(self, project: str, owner: str, *, changes: Changes) -> Sets:
        """Change some settings."""
        with full_disk_told(self._directory), _alone(os.path.join(self._directory, ".lock")):
            before = self.get(project, owner)
            sets = merged(before, changes)
            if sets != before:
                replace_for_good(self._path(project, owner), msgspec.json.encode(_File(project, owner, sets)))
                sync_directory(self._directory)
            return sets

    def close(self) -> None:
        """Nothing is open between two calls."""

    def _path(self, project: str, owner: str) -> str:
        digest = hashlib.sha256(f"{project}\0{owner}".encode()).hexdigest()
        return os.path.join(self._directory, f"{digest[:40]}.json")


@contextlib.contextmanager
def _alone(path: str) -> Iterator[None]:
    fd = os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)
