"""Finds the cgroup directories of a process, v1, v2 or both, and keeps their files open."""

import os
import re

import msgspec

from holter.probes.probe import NAN
from holter.probes.procfs import CHUNK_BYTES, PROC, find_number, raise_unless_silent, read_file
from holter.probes.totals import known

LEVELS = 8
UNIFIED = "unified"
# v1 says "no limit" with the largest number of pages there could be.
NO_LIMIT_BYTES = 1 << 60


class Mount(msgspec.Struct, frozen=True):
    """One mounted cgroup hierarchy."""

    root: str
    """The part of the hierarchy that is mounted: `/`, or in a container often the container's own cgroup."""
    point: str
    controllers: frozenset[str]
    """Of v1: the mount's options, controllers among them; of v2 the one word `unified`."""


class Chain(msgspec.Struct, frozen=True):
    """A process's cgroup for one controller and the cgroups above it."""

    is_unified: bool
    directories: tuple[str, ...] = ()
    """Its own first, then its ancestors as far as they are mounted here, at most eight in all."""


def find_chain(pid: int, controller: str, *, proc: str = PROC) -> Chain:
    """Return where a controller accounts for a process; no directories where nobody can look."""
    members = parse_memberships(read_file(f"{proc}/{pid}/cgroup") or b"")
    mounts = parse_mounts(read_file(f"{proc}/self/mountinfo") or b"")
    of_v1 = [mount for mount in mounts if controller in mount.controllers]
    if of_v1 and controller in members:
        return Chain(is_unified=False, directories=_directories(members[controller], of_v1))
    of_v2 = [mount for mount in mounts if UNIFIED in mount.controllers]
    return Chain(is_unified=True, directories=_directories(members.get(UNIFIED, "/"), of_v2))


def is_frozen(pid: int, *, proc: str = PROC) -> bool:
    """Whether somebody has frozen the container of a process, or one above it."""
    chain = find_chain(pid, "freezer", proc=proc)
    file, mark = ("cgroup.events", b"frozen 1") if chain.is_unified else ("freezer.state", b"FROZEN")
    return any(mark in (read_file(f"{directory}/{file}") or b"") for directory in chain.directories)


def parse_memberships(text: bytes) -> dict[str, str]:
    """Return the path in each controller's hierarchy, from a `/proc/PID/cgroup`."""
    members = {}
    for line in os.fsdecode(text).splitlines():
        number, controllers, path = line.split(":", 2)
        names = [UNIFIED] if number == "0" and not controllers else controllers.split(",")
        members.update(dict.fromkeys(names, path))
    return members


def parse_mounts(text: bytes) -> list[Mount]:
    """Return the cgroup hierarchies in a `/proc/PID/mountinfo`."""
    mounts = []
    for line in os.fsdecode(text).splitlines():
        place, _, kind = line.partition(" - ")
        fields, (file_system, _, options) = place.split(" "), kind.split(" ", 2)
        if file_system in ("cgroup", "cgroup2"):
            controllers = frozenset({UNIFIED} if file_system == "cgroup2" else options.split(","))
            mounts.append(Mount(root=_unescape(fields[3]), point=_unescape(fields[4]), controllers=controllers))
    return mounts


def _unescape(path: str) -> str:
    return path if "\\" not in path else re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), path)


def _directories(path: str, mounts: list[Mount]) -> tuple[str, ...]:
    for mount in mounts:
        for inside in _candidates(path, mount.root):
            directory = os.path.normpath(f"{mount.point}/{inside}")
            if os.path.isdir(directory):
                return _with_ancestors(directory, mount.point)
    return ()


def _candidates(path: str, root: str) -> list[str]:
    # A container may see its own cgroup mounted as if it were the whole hierarchy, under a path of the host or under
    # none (cgroup namespaces, where a path outside begins with `/..`). The mount point is then the best that is seen.
    inside = [] if ".." in path.split("/") else [path]
    if path == root or path.startswith(f"{root.rstrip('/')}/"):
        inside.insert(0, path[len(root.rstrip("/")) :])
    return [*inside, ""]


def _with_ancestors(directory: str, top: str) -> tuple[str, ...]:
    found = [directory]
    while found[-1] != top and len(found) < LEVELS:
        found.append(os.path.dirname(found[-1]))
    return tuple(found)


class Cgroup:
    """One cgroup directory, each file of which stays open from its first reading on.

    An open file is read without walking the path again and never turns into that of another cgroup of the same name.
    Linux answers for it as long as the cgroup exists; after its removal every number is NaN.
    """

    def __init__(self, directory: str) -> None:
        self.directory = directory
        self._files: dict[str, int] = {}

    def read(self, name: str) -> bytes:
        """Return the file's current text, empty where nobody can look."""
        fd = self._files.get(name)
        if fd is None:
            fd = self._files[name] = self._open(name)
        try:
            return os.pread(fd, CHUNK_BYTES, 0) if fd >= 0 else b""
        except OSError as error:
            raise_unless_silent(error)
            return b""

    def number(self, name: str, label: bytes = b"") -> float:
        """Return the number behind a label of the file, or its first; NaN for none, for `max` and for no limit."""
        value = known(find_number(self.read(name), label))
        return value if value < NO_LIMIT_BYTES else NAN

    def close(self) -> None:
        """Close the files; idempotent."""
        while self._files:
            fd = self._files.popitem()[1]
            if fd >= 0:
                os.close(fd)

    def _open(self, name: str) -> int:
        try:
            return os.open(f"{self.directory}/{name}", os.O_RDONLY | os.O_CLOEXEC)
        except OSError as error:
            raise_unless_silent(error)
            return -1
