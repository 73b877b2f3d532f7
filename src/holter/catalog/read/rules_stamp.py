"""Tells apart the rules by which runs were judged: with other rules the same evidence may have another cause."""

import contextlib
import functools
import glob
import os
import sys
import zlib
from collections.abc import Iterable

import holter
from holter.version import __version__

# All that a verdict is made by: what is known is gathered, weighed, and put in words.
FOLDERS = ("catalog", "diagnosis", "model")


@functools.cache
def rules_stamp() -> str:
    """The same as long as the rules are, those of others included; costs a few milliseconds, once."""
    own = os.path.dirname(holter.__file__)
    return f"{__version__}-{checksum(os.path.join(own, folder) for folder in FOLDERS)}-{foreign_rules(sys.path)}"


def checksum(folders: Iterable[str]) -> str:
    """Of all Python files below some folders, wherever these lie."""
    found = 0
    for folder in folders:
        for path in sorted(glob.glob("**/*.py", root_dir=folder, recursive=True)):
            with open(os.path.join(folder, path), "rb") as file:
                found = zlib.crc32(file.read(), zlib.crc32(path.encode(), found))
    return f"{found:08x}"


def foreign_rules(path: Iterable[str]) -> str:
    """Stands for the packages, and their versions, that offer rules. Not `importlib.metadata`: it costs 50 ms."""
    found = 0
    for place in path:
        for name in sorted(glob.glob("*.dist-info/entry_points.txt", root_dir=place)):
            with contextlib.suppress(OSError), open(os.path.join(place, name), "rb") as file:
                if b"holter.rules" in file.read():
                    found = zlib.crc32(name.encode(), found)
    return f"{found:08x}"
