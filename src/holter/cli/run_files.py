"""The files of a run's directory: which there are, and one of them byte by byte."""

import os
import stat
import sys
from typing import BinaryIO

import msgspec

from holter.cli.parser import near
from holter.errors import UsageError
from holter.journal.kept_files import FOLDER, PARTIAL

CHUNK_BYTES = 1 << 20
_OURS = (PARTIAL, ".lock")


class RunFile(msgspec.Struct, frozen=True):
    """A file, its name relative to the run's directory; `changed_at` in seconds since 1970."""

    name: str
    bytes: int
    changed_at: float


def list_files(directory: str) -> list[RunFile]:
    """All regular files, the journals last."""
    found = []
    for folder, _, names in os.walk(directory):
        for name in names:
            path = os.path.join(folder, name)
            try:
                status = os.lstat(path)
            except FileNotFoundError:  # removed or renamed meanwhile
                continue
            if stat.S_ISREG(status.st_mode) and not name.endswith(_OURS):
                found.append(RunFile(os.path.relpath(path, directory), status.st_size, status.st_mtime))
    return sorted(found, key=lambda each: (each.name.endswith(".seg"), each.name))


def print_file(directory: str, name: str) -> None:
    """Copy a file to the standard output. Raises UsageError, OSError."""
    with open_file(directory, name) as file:
        while sys.stdout is not None and (chunk := file.read(CHUNK_BYTES)):
            sys.stdout.buffer.write(chunk)


def open_file(directory: str, name: str) -> BinaryIO:
    """A file of the run, by its name in the directory or below its `files`. Raises UsageError, OSError."""
    if not name or "\0" in name or os.path.isabs(name) or os.pardir in name.split(os.sep):
        raise UsageError(f"{name!r} does not name a file of the run: give a name that `holter show RUN --files` lists")
    root = os.path.realpath(directory)
    for candidate in (name, os.path.join(FOLDER, name)):
        path = os.path.realpath(os.path.join(root, candidate))
        if not os.path.isfile(path):
            continue
        if not path.startswith(root + os.sep):
            raise UsageError(f"{name!r} is a link that leads out of the run's directory, to {path}: open it there")
        return open(os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW), "rb")
    known = [each.name for each in list_files(directory)]
    raise UsageError(f"the run has no file {name!r}{near(name, known)}; `holter show RUN --files` lists them")
