"""Deletes runs, by whatever way somebody asks for it, and remembers which: none comes back by itself."""

import contextlib
import errno
import os
import time

import msgspec

from holter.catalog.change.trash import Trash
from holter.errors import Refused
from holter.journal.kept_files import replace_file
from holter.journal.rundir import is_run_id, make_private, run_directory, sync_directory
from holter.wire.batches import GONE

FOLDER = "deleted"
_FULL = (errno.ENOSPC, errno.EDQUOT)


class Deletion(msgspec.Struct, frozen=True, kw_only=True):
    """Who deleted a run, and when, in seconds since 1970."""

    by: str
    at: float
    user: str = ""
    """The account of who may have it back, where somebody may."""

    def __str__(self) -> str:
        moment = time.strftime(" on %Y-%m-%d at %H:%M UTC", time.gmtime(self.at)) if self.at else ""
        return f"by {self.by}{moment}"


_decode = msgspec.json.Decoder(Deletion).decode


class Deletions:
    """A small file for each deleted run, beside `runs` and not in the index: it outlives both. Thread-safe."""

    def __init__(self, data: str) -> None:
        self._data = data
        self._folder = os.path.join(data, FOLDER)

    def note(self, run: str, deletion: Deletion) -> None:
        """Remember it, on disk when this returns. To be done before the run's directory goes. Raises OSError."""
        if not is_run_id(run):
            return  # nobody can send one with such a name
        self._make_folder()
        replace_file(self._path(run), msgspec.json.encode(deletion))
        sync_directory(self._folder)

    def find(self, run: str) -> Deletion | None:
        """None for a run that nobody deleted. Raises OSError where that can't be told: then it says neither."""
        if not is_run_id(run):
            return None
        try:
            with open(self._path(run), "rb") as file:
                noted = file.read(1 << 16)
        except FileNotFoundError:
            return None
        try:
            return _decode(noted)
        except msgspec.MsgspecError:  # that it is there says enough
            return Deletion(by="somebody", at=0.0)

    def forget(self, run: str) -> None:
        """Take the run again when it is sent. Idempotent. Raises OSError."""
        if is_run_id(run):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self._path(run))

    def check(self, run: str) -> None:
        """Raises Refused for a run that was deleted, OSError where that can't be told."""
        if (deletion := self.find(run)) is not None:
            raise Refused(
                GONE,
                f"run {run} was deleted on the server {deletion}",
                why="what was deleted does not come back by itself",
                do=f"`holter sync --restore {run}` sends it again",
            )

    def _make_folder(self) -> None:
        """Whoever may delete a run may also note it: people who share `runs` share this as well."""
        if os.path.isdir(self._folder):
            return
        make_private(self._folder)
        with contextlib.suppress(FileNotFoundError):
            os.chmod(self._folder, os.stat(os.path.join(self._data, "runs")).st_mode & 0o7777)

    def _path(self, run: str) -> str:
        return os.path.join(self._folder, run)


def delete_run(data: str, run: str, *, by: str) -> None:
    """Remove a run from a data directory for good, also while a server serves it; idempotent. Raises OSError.

    That it was deleted is on disk before its files go, but for a disk so full that only their going makes room for it.
    """
    deletions, deletion = Deletions(data), Deletion(by=by, at=time.time())
    is_noted = _noted(deletions, run, deletion)
    try:
        _remove(data, run)
    except BaseException:
        if is_noted and os.path.isdir(run_directory(data, run)):
            deletions.forget(run)
        raise
    if not is_noted:
        deletions.note(run, deletion)
        _remove(data, run)  # somebody may have sent it meanwhile


def hide_run(data: str, run: str, *, by: str, user: str) -> bool:
    """Remove a run so that the same user can have it back for a while; False where a full disk needs its room at once.

    Raises OSError.
    """
    deletions = Deletions(data)
    if not _noted(deletions, run, Deletion(by=by, at=time.time(), user=user)):
        return False
    try:
        with contextlib.suppress(FileNotFoundError):
            Trash(data).hide(run)
    except OSError:
        deletions.forget(run)
        raise
    return True


def restore_run(data: str, run: str) -> bool:
    """Bring a hidden run back; False where it is gone for good. Raises OSError."""
    is_back = Trash(data).restore(run)
    if is_back:
        Deletions(data).forget(run)
    return is_back


def _noted(deletions: Deletions, run: str, deletion: Deletion, /) -> bool:
    try:
        deletions.note(run, deletion)
    except OSError as error:
        if error.errno in _FULL:
            return False
        raise
    return True


def _remove(data: str, run: str) -> None:
    with contextlib.suppress(FileNotFoundError):  # somebody else was quicker
        Trash(data).remove(run)
