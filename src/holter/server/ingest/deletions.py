"""Which runs were deleted: what is still sent of them is not taken, so that none comes back by itself."""

import contextlib
import os
import time

import msgspec

from holter.errors import Refused
from holter.journal.kept_files import replace_file
from holter.journal.rundir import is_run_id, make_private
from holter.wire.batches import GONE

FOLDER = "deleted"


class Deletion(msgspec.Struct, frozen=True, kw_only=True):
    """Who deleted a run, and when, in seconds since 1970."""

    by: str
    at: float


_decode = msgspec.json.Decoder(Deletion).decode


class Deletions:
    """A small file for each deleted run, beside `runs` and not in the index: it outlives both. Thread-safe."""

    def __init__(self, data: str) -> None:
        self._folder = os.path.join(data, FOLDER)

    def note(self, run: str, deletion: Deletion) -> None:
        """Remember it, on disk when this returns. To be done before the run's directory goes. Raises OSError."""
        make_private(self._folder)
        replace_file(self._path(run), msgspec.json.encode(deletion))
        fd = os.open(self._folder, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)

    def find(self, run: str) -> Deletion | None:
        """None for a run that nobody deleted."""
        if not is_run_id(run):
            return None
        try:
            with open(self._path(run), "rb") as file:
                return _decode(file.read(1 << 16))
        except FileNotFoundError:
            return None
        except (OSError, msgspec.MsgspecError):  # that it is there says enough
            return Deletion(by="somebody", at=0.0)

    def forget(self, run: str) -> None:
        """Take the run again when it is sent. Idempotent. Raises OSError."""
        if is_run_id(run):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self._path(run))

    def check(self, run: str) -> None:
        """Raises Refused for a run that was deleted."""
        if (deletion := self.find(run)) is not None:
            raise Refused(
                GONE,
                f"run {run} was deleted on the server by {deletion.by}{_moment(deletion.at)}",
                why="what was deleted does not come back by itself",
                do=f"`holter sync --restore {run}` sends it again",
            )

    def _path(self, run: str) -> str:
        return os.path.join(self._folder, run)


def _moment(at: float) -> str:
    return time.strftime(" on %Y-%m-%d at %H:%M UTC", time.gmtime(at)) if at else ""
