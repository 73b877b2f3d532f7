"""Files that only grow, by a line at a time, and are on disk with each."""

import errno
import os

from holter.journal.rundir import make_private, sync_directory


def append_line(path: str, line: bytes) -> None:
    """Add a line to a private file of lines, which may have to be made; on disk when this returns. Raises OSError."""
    make_private(os.path.dirname(path))
    is_new = not os.path.exists(path)
    fd = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC, 0o600)
    try:
        # One that was cut off in the middle must not spoil the next.
        data = b"\n" + line + b"\n"
        if os.write(fd, data) < len(data):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        os.fdatasync(fd)
    finally:
        os.close(fd)
    if is_new:
        sync_directory(os.path.dirname(path))
