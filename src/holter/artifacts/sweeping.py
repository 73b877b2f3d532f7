"""Removes what nobody names from the directory of artifacts, with what writers left that died."""

import contextlib
import fcntl
import os
import shutil
import time
from collections.abc import Callable, Iterable, Sequence

from holter.artifacts.asks import SMALL
from holter.journal.kept_files import PARTIAL

_DRAFT_GRACE_S = 60.0
_ANSWERS_S = 7 * 86400.0


def sweep(
    root: str, kinds: Sequence[Callable[[], Iterable[tuple[str, str]]]], named: set[str], grace_s: float, /
) -> tuple[int, int]:
    """Remove the files of what is not named and older than that; how many, and their bytes. Raises OSError."""
    before, count, freed = time.time() - grace_s, 0, 0
    for digest, path in [each for kind in kinds for each in kind()]:
        if digest in named:
            continue
        with contextlib.suppress(FileNotFoundError):
            status = os.stat(path)
            if status.st_mtime <= before or grace_s <= 0:
                os.unlink(path)
                count, freed = count + 1, freed + status.st_size
    _remove_drafts(root, grace_s)
    _remove_partial(root, grace_s)
    return count, freed


def _remove_drafts(root: str, grace_s: float) -> None:
    staging, asks = os.path.join(root, "staging"), os.path.join(root, "asks")
    for name in os.listdir(staging) if os.path.isdir(staging) else ():
        _remove_left(os.path.join(staging, name), ".lock", grace_s)
    names = os.listdir(asks) if os.path.isdir(asks) else []
    asked = " ".join(name for name in names if name.endswith(".ask"))
    for name in names:
        if name.endswith(".files") and name.removesuffix(".files") not in asked:
            _remove_left(os.path.join(asks, name), SMALL, grace_s)


def _remove_partial(root: str, grace_s: float) -> None:
    """What a process that died in the middle of writing left beside the file, and answers that nobody waits for."""
    now = time.time()
    for folder in ("asks", "answers", "uploads", "books", "manifests"):
        for above, _, names in os.walk(os.path.join(root, folder)):
            for name in names:
                path = os.path.join(above, name)
                is_partial = name.startswith(".") and name.endswith(PARTIAL)
                with contextlib.suppress(OSError):
                    age_s = now - os.stat(path).st_mtime
                    if (is_partial and age_s > min(grace_s, _DRAFT_GRACE_S)) or (
                        folder == "answers" and age_s > _ANSWERS_S
                    ):
                        os.unlink(path)


def _remove_left(folder: str, lock: str, grace_s: float) -> None:
    """Remove what a writer left that died: the lock of a living one is held."""
    with contextlib.suppress(OSError):
        if grace_s > 0 and time.time() - os.stat(folder).st_mtime < _DRAFT_GRACE_S:
            return
        fd = os.open(os.path.join(folder, lock), os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(folder, ignore_errors=True)
        finally:
            os.close(fd)
