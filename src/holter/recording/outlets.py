"""What stands behind standard output and standard error."""

import os
import stat

from holter.console.files import BOTH, STDERR, STDOUT
from holter.wire.way_back import Followed

NAMES = {1: "stdout", 2: "stderr"}
_STREAMS = {1: STDOUT, 2: STDERR}


def stream_id(fd: int) -> str:
    """What tells a file, pipe or terminal from all others as long as somebody has it open; empty for a closed one."""
    try:
        status = os.fstat(fd)
    except OSError:
        return ""
    return f"{status.st_dev:x}.{status.st_ino:x}.{status.st_rdev:x}"


def kind_of(fd: int) -> str:
    """`terminal`, `pipe` (or socket), `file`, `device` for anything else such as /dev/null, or `closed`."""
    try:
        mode = os.fstat(fd).st_mode
    except OSError:
        return "closed"
    if os.isatty(fd):
        return "terminal"
    if stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode):
        return "pipe"
    return "file" if stat.S_ISREG(mode) else "device"


def stream_of(fds: tuple[int, ...]) -> int:
    """The stream for which descriptors stand in a transcript."""
    return BOTH if len(fds) > 1 else _STREAMS[fds[0]]


def follow(fds: tuple[int, ...]) -> Followed:
    """The regular file behind descriptors, from its end on. Raises OSError."""
    status = os.fstat(fds[0])
    return Followed(
        # A name that is no text has no place in a message; the sidecar then finds the file by the process.
        path=os.fsencode(os.readlink(f"/proc/self/fd/{fds[0]}")).decode("utf-8", "ignore"),
        device=status.st_dev,
        inode=status.st_ino,
        offset=status.st_size,
        stream=stream_of(fds),
    )
