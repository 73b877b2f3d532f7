"""Small files with secrets: only their owner may read them, and they are replaced as a whole."""

import contextlib
import fcntl
import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager

from holter.journal.kept_files import replace_file
from holter.journal.rundir import make_private

SECRET_BYTES = 32
Alone = Callable[[str], AbstractContextManager[None]]
"""Within it, nobody else changes the file of a path."""


def read_secret(path: str, alone: Alone | None = None) -> bytes:
    """The secret of a data directory, made where there is none. Raises OSError."""
    with (alone or locked)(path):
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
