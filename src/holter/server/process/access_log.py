"""Who asked for what, a line of JSON each: no address that somebody typed, no header, no key; bounded in every way."""

import logging
import os
import threading
import time
from collections.abc import Callable
from logging.handlers import RotatingFileHandler
from queue import SimpleQueue

import msgspec

from holter.errors import UsageError
from holter.server.process.tally import Note

FILE_BYTES, FILES = 32 << 20, 4
"""How large a file becomes, and how many there are with the older ones: `FILE`, `FILE.1` …"""
MOST_WAITING = 10_000
_ENCODER = msgspec.json.Encoder()


class Line(msgspec.Struct, frozen=True, omit_defaults=True):
    """One request. Times are UTC, sizes those of bodies; `key` is the id of a key, never the key."""

    at: str
    address: str
    method: str
    route: str
    status: int
    ms: float
    run: str = ""
    key: str = ""
    bytes_in: int = 0
    bytes_out: int = 0


class AccessLog:
    """Writes in a thread of its own: nobody's answer waits for the disk. What it can't write is left out, and said.

    Raises UsageError where the file can't be written from the start.
    """

    def __init__(self, path: str, complain: Callable[[str], None]) -> None:
        self.left_out = 0
        self._complain = complain
        self._waiting: SimpleQueue[Note | None] = SimpleQueue()
        try:
            os.close(os.open(path, os.O_CREAT | os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC, 0o600))
            self._file = _Rotating(path, maxBytes=FILE_BYTES, backupCount=FILES - 1, encoding="utf-8")
        except OSError as error:
            raise UsageError(f"--access-log {path} can't be written ({error.strerror}): name another file") from error
        self._thread = threading.Thread(target=self._write, name="holter-access-log", daemon=True)
        self._thread.start()

    def add(self, note: Note) -> None:
        """One request that was answered. Never waits."""
        if self._waiting.qsize() < MOST_WAITING:
            self._waiting.put(note)
        else:
            self.left_out += 1

    def close(self) -> None:
        """Write what waits. Idempotent."""
        self._waiting.put(None)
        self._thread.join()
        self._file.close()

    def _write(self) -> None:
        while (note := self._waiting.get()) is not None:
            record = logging.makeLogRecord({"msg": _ENCODER.encode(line_of(note)).decode()})
            try:
                self._file.emit(record)
            except OSError as error:
                self.left_out += 1
                self._complain(f"the access log can't be written: {error.strerror}")


class _Rotating(RotatingFileHandler):
    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802  the parent's name
        """Whoever writes decides what is said."""
        raise  # noqa: PLE0704  called where an exception is handled


def line_of(note: Note) -> Line:
    """Pure."""
    moment = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(note.at))
    return Line(
        at=f"{moment}.{int(note.at % 1 * 1000):03}Z",
        address=note.address,
        method=note.method,
        route=note.route,
        status=note.status,
        ms=round(note.seconds * 1000, 1),
        run=note.run,
        key=note.who,
        bytes_in=note.bytes_in,
        bytes_out=note.bytes_out,
    )
