"""Copies a data directory while it is used: the copy is a data directory like any other."""

import contextlib
import os
import shutil
import sqlite3
from collections.abc import Iterator, Mapping

from holter.errors import UsageError
from holter.journal.rundir import make_private
from holter.server.ingest.index_place import index_directory
from holter.server.security.keyring import SECRETS

# Of the index only what no journal can give back.
NAMES_OF_BLOBS, BLOBS = "blobs.db", "blobs"


def make_backup(data: str, target: str, *, environ: Mapping[str, str]) -> int:
    """Copy runs, uploaded files and keys to a new directory; returns how many bytes. Raises UsageError, OSError.

    Any prefix of a journal is readable, so nobody has to stop writing. The rest of the index is left out: the first
    server that opens the copy makes it again. The copy has its name only when it is complete.
    """
    if os.path.exists(target):
        raise UsageError(f"{target} exists: a backup needs a name of its own")
    if not os.path.isdir(data):
        raise UsageError(f"there is no data directory {data} to copy")
    partial = f"{os.path.abspath(target)}.partial-{os.getpid()}"
    make_private(os.path.dirname(partial))
    os.mkdir(partial, 0o700)
    try:
        # Names first: a blob that is named was there before its name.
        index = index_directory(data, environ)
        copied = _copy_database(os.path.join(index, NAMES_OF_BLOBS), os.path.join(partial, "index"))
        copied += _copy_tree(os.path.join(index, BLOBS), os.path.join(partial, "index", BLOBS))
        for folder in ("runs", SECRETS):
            copied += _copy_tree(os.path.join(data, folder), os.path.join(partial, folder))
        os.rename(partial, target)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise
    return copied


def _copy_database(source: str, folder: str) -> int:
    if not os.path.exists(source):
        return 0
    make_private(folder)
    target = os.path.join(folder, os.path.basename(source))
    with contextlib.closing(sqlite3.connect(source)) as found, contextlib.closing(sqlite3.connect(target)) as copy:
        found.backup(copy)
    return os.path.getsize(target)


def _copy_tree(source: str, target: str) -> int:
    copied = 0
    for path, name in _files(source):
        place = os.path.join(target, name)
        make_private(os.path.dirname(place))
        with contextlib.suppress(FileNotFoundError):  # removed meanwhile
            shutil.copy2(path, place, follow_symlinks=False)
            copied += os.lstat(place).st_size
    return copied


def _files(source: str) -> Iterator[tuple[str, str]]:
    for folder, folders, names in os.walk(source):
        folders[:] = [name for name in folders if name not in (".trash", "staging")]
        for name in names:
            path = os.path.join(folder, name)
            yield path, os.path.relpath(path, source)
