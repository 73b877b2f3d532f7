"""What people did on any of several servers: each writes its own file, as ever, and all have the lines of all."""

import threading
from collections.abc import Iterator

import msgspec

from holter.server.security.audit import Act, Audit, decode_act
from holter.storage.acts import ActStore, Line

AT_ONCE = 1000


class SharedAudit(Audit):
    """Thread-safe. What is noted, also by a command, is in the store after the next look, however long that is away."""

    def __init__(self, path: str, store: ActStore) -> None:
        super().__init__(path)
        self._store = store
        self._lock = threading.Lock()
        self._told = 0
        """So much of our own file the store has; at the start it is asked about all of it."""

    def look(self) -> None:
        """Bring what was written down here to all. Raises StorageError, OSError."""
        with self._lock:
            try:
                with open(self._path, "rb") as file:
                    file.seek(self._told)
                    data = file.read()
            except FileNotFoundError:
                return
            data = data[: data.rfind(b"\n") + 1]
            lines = [line for text in data.split(b"\n") if (line := _line(text)) is not None]
            for start in range(0, len(lines), AT_ONCE):
                self._store.add(lines[start : start + AT_ONCE])
            self._told += len(data)

    def acts(self) -> Iterator[Act]:
        """All of them, of all servers, the oldest first. Raises StorageError, OSError."""
        self.look()
        return (decode_act(line.text) for line in self._store.all())

    def close(self) -> None:
        """Idempotent."""
        self._store.close()


def _line(text: bytes) -> Line | None:
    """None for one that was cut off."""
    try:
        return Line(decode_act(text).at, text)
    except msgspec.MsgspecError:
        return None
