"""What somebody wants to be a version: its files and its names. Data only; light enough for a training process."""

import os
from collections.abc import Iterator

import msgspec

from holter.artifacts.book import Keep


class Wanted(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """What somebody wants to be a version, apart from its files."""

    project: str
    name: str
    type: str
    at_ns: int
    ask: str = ""
    run: str = ""
    aliases: tuple[str, ...] = ()
    description: str = ""
    metadata: dict[str, object] = {}
    ttl_s: float = 0
    keep: Keep | None = None


class Source(msgspec.Struct, frozen=True, omit_defaults=True, array_like=True):
    """A file that is to be in a version, as it was when somebody asked for it."""

    path: str
    """Its name in the version."""
    at: str = ""
    """Where it lies now."""
    state: tuple[int, int, int, int] | None = None
    """Device, inode, size and time of its last change; None: as it is when it is read."""
    offset: int = -1
    """Where it begins in the file in which it lies; below zero: it is that file."""
    bytes: int = 0
    reference: str = ""
    digest: str = ""
    """Of a reference: what is known of its content."""


def state_of(status: os.stat_result) -> tuple[int, int, int, int]:
    """What is another after a file was written to or replaced."""
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def walk(folder: str, *, below: str = "") -> Iterator[tuple[str, os.stat_result, str]]:
    """Name, state and place of each file in a folder, links followed where they lead to files. Raises OSError."""
    pending = [(folder, below)]
    while pending:
        here, prefix = pending.pop()
        with os.scandir(here) as found:
            for item in found:
                name = f"{prefix}{item.name}"
                if item.is_dir(follow_symlinks=False):
                    pending.append((item.path, name + "/"))
                elif item.is_file():
                    yield name, item.stat(), item.path
