"""Copies a data directory while it is used: the copy is a data directory like any other."""

import contextlib
import os
import shutil
from collections.abc import Iterator, Mapping

from holter.catalog.change.deletions import FOLDER as DELETIONS
from holter.catalog.change.trash import TRASH
from holter.errors import UsageError
from holter.journal.rundir import make_private
from holter.server.ingest.index_place import index_directory
from holter.server.security.keyring import SECRETS

# Of the index only what nothing can give back.
IRREPLACEABLE = ("blobs", "settings")


def make_backup(data: str, target: str, *, environ: Mapping[str, str]) -> int:
    """Copy runs, uploaded files, keys and settings to a new directory; returns how many bytes.

    Any prefix of a journal is readable, so nobody has to stop writing. The rest of the index is left out: the first
    server that opens the copy makes it again. The copy has its name only when it is complete.
    Raises UsageError, OSError.
    """
    if os.path.exists(target):
        raise UsageError(f"{target} exists: a backup needs a name of its own")
    if not os.path.isdir(data):
        raise UsageError(f"there is no data directory {data} to copy")
    partial = f"{os.path.abspath(target)}.partial-{os.getpid()}"
    make_private(os.path.dirname(partial))
    os.mkdir(partial, 0o700)
    try:
        copied = 0
        for folder in ("runs", DELETIONS, SECRETS):
            copied += _copy_tree(os.path.join(data, folder), os.path.join(partial, folder))
        # Behind the runs: a blob that a run has a name for was there before its name.
        for folder in IRREPLACEABLE:
            source = os.path.join(index_directory(data, environ), folder)
            copied += _copy_tree(source, os.path.join(partial, "index", folder))
        os.rename(partial, target)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise
    return copied


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
        folders[:] = [name for name in folders if name != "staging" and not name.startswith(TRASH)]
        for name in names:
            path = os.path.join(folder, name)
            yield path, os.path.relpath(path, source)
