"""Where a process that is not ours prints: into files that can be read along, or out of our reach."""

import os
import stat

import msgspec

from holter.probes.procfs import PROC, read_file
from holter.recording.outlets import NAMES, stream_of
from holter.wire.way_back import Followed


class Outlets(msgspec.Struct):
    """How the output of a process is kept."""

    kept: dict[str, str] = {}
    """Each stream in the words of the `Console` record."""
    followed: list[Followed] = []


def find_outlets(pid: int, limit_bytes: int, *, proc: str = PROC) -> Outlets:
    """Look behind the standard output and standard error of a process of ours.

    What a file that was made for the process holds already is kept as well, as far as the limit allows.
    """
    found = Outlets()
    groups: dict[tuple[int, int], list[int]] = {}
    for fd, name in NAMES.items():
        try:
            status = os.stat(f"{proc}/{pid}/fd/{fd}")
        except OSError:
            found.kept[name] = "none: it is closed"
            continue
        if not limit_bytes:
            found.kept[name] = "none: the limit is 0"
        elif stat.S_ISREG(status.st_mode):
            found.kept[name] = "file"
            groups.setdefault((status.st_dev, status.st_ino), []).append(fd)
        else:
            found.kept[name] = "none: of a process that runs already only files can be read along"
    found.followed = [_follow(pid, tuple(fds), limit_bytes=limit_bytes, proc=proc) for fds in groups.values()]
    return found


def _follow(pid: int, fds: tuple[int, ...], *, limit_bytes: int, proc: str) -> Followed:
    path = f"{proc}/{pid}/fd/{fds[0]}"
    status = os.stat(path)
    # A file that is appended to (`>>`) may hold the words of other programs.
    before = status.st_size if _is_appended_to(pid, fds[0], proc) else max(0, status.st_size - limit_bytes)
    return Followed(
        path=os.readlink(path), device=status.st_dev, inode=status.st_ino, offset=before, stream=stream_of(fds)
    )


def _is_appended_to(pid: int, fd: int, proc: str) -> bool:
    for line in (read_file(f"{proc}/{pid}/fdinfo/{fd}") or b"").splitlines():
        if line.startswith(b"flags:"):
            return bool(int(line.split()[1], 8) & os.O_APPEND)
    return True
