"""When each key was used last, to the minute: so that those can be revoked that nobody uses."""

import threading

import msgspec

from holter.journal.kept_files import replace_file

NAME = "last-use.json"
EVERY_S = 60.0
"""The file is written so often at most: a use within the last minute may be forgotten by a crash."""

_decode = msgspec.json.Decoder(dict[str, float]).decode


class LastUse:
    """Seconds since 1970 by the id of a key, in memory and in one small file. Thread-safe."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._used = read_last_use(path)
        self._kept = dict(self._used)
        self._kept_at = 0.0

    def note(self, key: str, now: float) -> None:
        """It is used. Cheap."""
        self._used[key] = now

    def keep(self, now: float) -> None:
        """Write it down where that is due. Raises OSError."""
        if now - self._kept_at < EVERY_S or not self._lock.acquire(blocking=False):
            return
        try:
            self._kept_at = now
            used = dict(self._used)
            if any(at - self._kept.get(key, 0.0) >= EVERY_S for key, at in used.items()):
                replace_file(self._path, msgspec.json.encode(used))
                self._kept = used
        finally:
            self._lock.release()

    def get(self, key: str) -> float | None:
        """None for a key that was never used."""
        return self._used.get(key)


def read_last_use(path: str) -> dict[str, float]:
    """What was written down; nothing where that can't be read."""
    try:
        with open(path, "rb") as file:
            return _decode(file.read())
    except (OSError, msgspec.MsgspecError):
        return {}
