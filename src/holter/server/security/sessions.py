"""Sessions that somebody ended by logging out: their cookies are good for nothing any more, whoever kept a copy."""

import contextlib
import hashlib
import os

from holter.journal.rundir import make_private


class EndedSessions:
    """An empty file for each, named by a hash, which can go when the cookie would have expired. Thread-safe.

    Other processes with the same folder see it at once.
    """

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def end(self, session: str, *, expires: float, now: float) -> None:
        """From now on the session is none. Idempotent. Raises OSError."""
        make_private(self._folder)
        self._forget_expired(now)
        path = self._path(session)
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o600))
        os.utime(path, (expires, expires))

    def has(self, session: str) -> bool:
        """Whether somebody ended it."""
        return os.path.exists(self._path(session))

    def _forget_expired(self, now: float) -> None:
        with os.scandir(self._folder) as entries:
            expired = [entry.path for entry in entries if entry.stat().st_mtime < now]
        for path in expired:
            with contextlib.suppress(FileNotFoundError):  # another process did
                os.unlink(path)

    def _path(self, session: str) -> str:
        return os.path.join(self._folder, hashlib.sha256(session.encode()).hexdigest())
