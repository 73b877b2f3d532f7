"""Small files with secrets: only their owner may read them, and they are replaced as a whole."""

import contextlib
import fcntl
import os
import secrets
from collections.abc import Iterator

from holter.journal.kept_files import replace_file
from holter.journal.rundir import make_private

SECRET_BYTES = 32


def read_secret(path: str) -> bytes:
    """The secret of a data directory, made where there is none. Raises OSError."""
    with locked(path):
        try:
            with open(path, "rb") as file:
                found = file.read()
        except FileNotFoundError:
            found = b""
        if len(found) != SECRET_BYTES:
            found = secrets.token_bytes(SECRET_BYTES)
            replace_file(path, found)
        return found


@contextlib.contextmanager
def locked(path: str) -> Iterator[None]:
    """Nobody else changes the file in the block. Raises OSError."""
    make_private(os.path.dirname(path))
    fd = os.open(f"{path}.lock", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)
