"""What the process was near to running out of at the moment of an exception; many messages do not say.

A full disk makes `torch.save` complain about a position in a file, and a pool without threads about a timeout.
"""

import contextlib
import errno
import os
import resource
import stat
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from holter.client.deadline import in_time
from holter.model.cutting import as_utf8
from holter.model.records import Looked
from holter.recording.spawning import most_child_bytes

# A file system that is gone must not hold up the end of the program.
WITHIN_S = 0.05
MOST_OPEN_FILES = 512
MOST_ARGUMENTS = 8
MOST_DISKS = 12
MOST_PATH = 1000
MOST_PROCESSES = 2000
_SHARED_MEMORY = "/dev/shm"
_LIMITS = {
    "open_files_limit": resource.RLIMIT_NOFILE,
    "address_space_limit_bytes": resource.RLIMIT_AS,
    "data_limit_bytes": resource.RLIMIT_DATA,
    "stack_limit_bytes": resource.RLIMIT_STACK,
    "file_size_limit_bytes": resource.RLIMIT_FSIZE,
    "cpu_limit_s": resource.RLIMIT_CPU,
}
Found = dict[str, Any]
"""The fields of `Surroundings`, without its import, which only readers need."""


def look_around(error: BaseException, directories: Sequence[str], *, at_ns: int) -> Looked:
    """What there was of everything, as far as it could be read in time. Raises nothing.

    Args:
        error: whose file and kind say where to look.
        directories: those of the runs.
    """
    found: Found = {}
    disks: list[Found] = []

    def look() -> None:
        # What costs nothing and needs no descriptor comes first: there may be none left.
        for step in (_read_limits, _ask_for_children, _count_open_files, _read_memory, partial(_count_threads, error)):
            with contextlib.suppress(Exception):  # each on its own
                step(found)
        with contextlib.suppress(Exception):
            _read_disks(disks, _places(error, directories))

    with contextlib.suppress(Exception):  # the boundary
        in_time(look, WITHIN_S)
    answered = dict(found)
    if disks:
        answered["disks"] = list(disks)
    return Looked(at_ns=at_ns, source="surroundings", pid=os.getpid(), found=answered)


def _read_limits(found: Found) -> None:
    for name, number in _LIMITS.items():
        soft, _ = resource.getrlimit(number)
        if soft != resource.RLIM_INFINITY:
            found[name] = soft


def _ask_for_children(found: Found) -> None:
    found["children_rss_bytes"] = most_child_bytes()


def _count_open_files(found: Found) -> None:
    try:
        found["open_files"] = len(os.listdir("/proc/self/fd")) - 1  # without the one for the list
    except OSError as error:
        if error.errno != errno.EMFILE:
            raise
        found["open_files"] = found["open_files_limit"]


def _read_memory(found: Found) -> None:
    pages = int(_read("/proc/self/statm").split()[0])
    found["address_space_bytes"] = pages * resource.getpagesize()
    lines = dict(line.partition(":")[::2] for line in _read("/proc/meminfo").splitlines())
    found["memory_available_bytes"] = int(lines["MemAvailable"].split()[0]) << 10
    if _read("/proc/sys/vm/overcommit_memory").strip() == "2":
        found["commit_limit_bytes"] = int(lines["CommitLimit"].split()[0]) << 10


def _count_threads(error: BaseException, found: Found) -> None:
    """Against the nearest limit: the user's, which costs a look at all processes, or that of a cgroup."""
    counts: list[tuple[int, int]] = []
    soft, _ = resource.getrlimit(resource.RLIMIT_NPROC)
    # Linux does not hold root to it.
    if soft != resource.RLIM_INFINITY and os.getuid() != 0 and _is_about_threads(error):
        counts.append((_threads_of_user(), soft))
    with contextlib.suppress(Exception):  # no such cgroups, no file descriptor left
        counts += _threads_of_cgroups()
    if counts:
        found["threads"], found["threads_limit"] = max(counts, key=lambda pair: pair[0] / max(pair[1], 1))
    else:
        found["threads"] = len(os.listdir("/proc/self/task"))


def _is_about_threads(error: BaseException) -> bool:
    return any(
        (isinstance(each, OSError) and each.errno in (errno.EAGAIN, errno.ENOMEM)) or "thread" in str(each)
        for each in _chain(error)
    )


def _threads_of_user() -> int:
    count, own = 0, os.getuid()
    for name in [name for name in os.listdir("/proc") if name.isdigit()][:MOST_PROCESSES]:
        with contextlib.suppress(OSError):  # it is gone by now
            if os.stat(f"/proc/{name}").st_uid == own:
                count += os.stat(f"/proc/{name}/task").st_nlink - 2  # one directory for each thread
    return count


def _threads_of_cgroups() -> Iterator[tuple[int, int]]:
    from holter.probes.cgroups import find_chain

    for directory in find_chain(os.getpid(), "pids").directories:
        with contextlib.suppress(OSError):  # the root has no such files
            limit = _read(os.path.join(directory, "pids.max")).strip()
            if limit != "max":
                yield int(_read(os.path.join(directory, "pids.current"))), int(limit)


def _places(error: BaseException, directories: Sequence[str]) -> Iterator[tuple[str, str, int | str]]:
    """What, its path, and the path or open file to ask; where an answer is likely and cheap first."""
    yield from (("run directory", directory, directory) for directory in directories)
    yield "shared memory", _SHARED_MEMORY, _SHARED_MEMORY
    temporary = os.environ.get("TMPDIR") or "/tmp"
    yield "temporary directory", temporary, temporary
    yield "working directory", os.getcwd(), "."
    for path in _paths_of(error):
        yield "error", path, path if os.path.exists(path) else os.path.dirname(path) or "."
    yield from (("argument", path, path) for path in _arguments_of(error))
    for number in _open_files():
        with contextlib.suppress(OSError):  # closed meanwhile
            if stat.S_ISREG(os.fstat(number).st_mode):
                yield "open file", os.readlink(f"/proc/self/fd/{number}"), number


def _open_files() -> list[int]:
    try:
        return [int(name) for name in os.listdir("/proc/self/fd")[:MOST_OPEN_FILES]]
    except OSError:  # no descriptor left for the list
        return list(range(MOST_OPEN_FILES))


def _paths_of(error: BaseException) -> Iterator[str]:
    for each in _chain(error):
        for name in ("filename", "filename2"):
            path = getattr(each, name, None) if isinstance(each, OSError) else None
            if isinstance(path, str | bytes) and path:
                yield os.fsdecode(path)


def _arguments_of(error: BaseException) -> Iterator[str]:
    """The files that a command which failed was given: `cp model.bin /scratch`."""
    for each in _chain(error):
        command = getattr(each, "cmd", None) if type(each).__name__ == "CalledProcessError" else None
        words = command.split() if isinstance(command, str) else command if isinstance(command, list | tuple) else ()
        for word in list(words)[1 : 1 + MOST_ARGUMENTS]:
            if isinstance(word, str | bytes | os.PathLike) and not str(word).startswith("-"):
                yield os.fsdecode(word)


def _chain(error: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    following: BaseException | None = error
    while following is not None and id(following) not in seen:
        seen.add(id(following))
        yield following
        following = following.__cause__ or following.__context__


def _read_disks(disks: list[Found], places: Iterator[tuple[str, str, int | str]]) -> None:
    seen: set[tuple[bool, int]] = set()
    for what, path, where in places:
        with contextlib.suppress(OSError):  # it is not there
            # The file that the exception names is always worth a line, any other only for a file system of its own.
            key = (what == "error", os.stat(where).st_dev)
            if key not in seen:
                seen.add(key)
                disks.append(_disk(what, path, os.statvfs(where)))
        if len(disks) >= MOST_DISKS:
            return


def _disk(what: str, path: str, found: os.statvfs_result) -> Found:
    disk: Found = {"path": as_utf8(path[:MOST_PATH]), "what": what}
    # A user other than root can't have the last blocks.
    disk |= {"free_bytes": found.f_bavail * found.f_frsize, "total_bytes": found.f_blocks * found.f_frsize}
    if found.f_files:  # some file systems do not count
        disk |= {"free_inodes": found.f_favail, "total_inodes": found.f_files}
    if found.f_flag & os.ST_RDONLY:
        disk["is_read_only"] = True
    return disk


def _read(path: str) -> str:
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()
