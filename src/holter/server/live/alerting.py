"""Tells people of the runs that a team server has, as the `alerts.toml` in its data directory says."""

import hashlib
import os
import threading
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import msgspec

from holter.alerts.file import FILE, AlertFile, read_file
from holter.alerts.message import Message
from holter.alerts.outbox import Outbox
from holter.alerts.post import Post
from holter.alerts.telling import RECORDS, About, of_end, of_record
from holter.errors import UsageError
from holter.model.run_row import RunRow
from holter.model.state import RUNNING
from holter.server.live.changes import Changes
from holter.storage.opening import Storage
from holter.wire.addresses import page_of

RECENT_S = 3600.0
LEAVE_WITHIN_S = 5.0
MOST_REMEMBERED = 100_000
_decode = msgspec.json.Decoder(Message).decode


class Alerting:
    """Thread-safe. Reads the file again when it has changed; without one it costs a look for it.

    Args:
        address: where people reach the server.
        complain: gets a sentence for the server's log, without anything secret.
        changes: knows what other servers have said; where there are others, each thing is said by one.
    """

    def __init__(
        self,
        data: str,
        *,
        storage: Storage,
        address: str,
        complain: Callable[[str], None],
        changes: Changes,
    ) -> None:
        self._data = data
        self._storage = storage
        self._address = address.rstrip("/")
        self._complain = complain
        self._changes = changes
        self._lock = threading.Lock()
        self._stamp: int | None = None
        self._file = AlertFile()
        self._outbox: Outbox | None = None
        self._told: set[tuple[str, int, str, str]] = set()

    def look(self, row: RunRow) -> None:
        """A run has said something lasting: tell what is an alert or a warning, each once."""
        if (outbox := self._current()) is None:
            return
        about = About(run=row.id, name=row.name, project=row.project, link=self._link(row))
        for event in self._storage.console.events(row.id, list(RECORDS)):
            said = (row.id, event.at_ns, event.kind, str(event.fields.get("title") or event.fields.get("text")))
            if time.time() - event.at_ns / 1e9 > RECENT_S or said in self._told:
                continue
            if len(self._told) >= MOST_REMEMBERED:
                self._told.clear()
            self._told.add(said)
            message = of_record(event.kind, event.fields, of=about)
            if message is not None:
                self._say(outbox, _word(*said), message)

    def ended(self, row: RunRow, said: Mapping[str, Any]) -> None:
        """A run has ended, or more is known of that; `said` is the object of `holter why --json`."""
        is_old = row.ended_at is not None and time.time() - row.ended_at > RECENT_S
        if said["state"] == RUNNING or is_old or (outbox := self._current()) is None:
            return
        why = f"{said['title']} ({said['cause']})" if said["cause"] else str(said["title"] or row.because)
        advice = said.get("advice") or [""]
        row = msgspec.structs.replace(row, state=said["state"])
        # More may be known of it later: then it is said again.
        word = _word(row.id, row.attempt, said["state"], said["cause"], said["title"])
        self._say(outbox, word, of_end(row, why=why, advice=advice[0], link=self._link(row)))

    def look_after(self) -> None:
        """Say what other servers did not come to say, as they have died. Raises StorageFailing."""
        if (outbox := self._current()) is None:
            return
        for word, data in self._changes.unsaid().items():
            outbox.add(_decode(data), then=partial(self._changes.has_said, word))

    def close(self) -> None:
        """Send what is waiting, for a few seconds. Idempotent."""
        with self._lock:
            outbox, self._outbox, self._stamp = self._outbox, None, None
        if outbox is not None:
            outbox.finish(LEAVE_WITHIN_S)
            outbox.join(2 * LEAVE_WITHIN_S)

    def _say(self, outbox: Outbox, word: str, message: Message) -> None:
        if self._changes.is_first(word, msgspec.json.encode(message)):
            outbox.add(message, then=partial(self._changes.has_said, word))

    def _link(self, row: RunRow) -> str:
        return f"{self._address}/{page_of(row.project, row.id)}" if self._address else ""

    def _current(self) -> Outbox | None:
        """The way out as the file has it now; None where nobody is to be told."""
        try:
            stamp = os.stat(os.path.join(self._data, FILE)).st_mtime_ns
        except OSError:
            stamp = None
        with self._lock:
            if stamp != self._stamp:
                self._stamp = stamp
                self._read()
            return self._outbox

    def _read(self) -> None:
        if self._outbox is not None:
            self._outbox.finish(LEAVE_WITHIN_S)
        self._outbox = None
        try:
            self._file = read_file(self._data)
        except UsageError as error:
            self._complain(f"nobody is told of alerts: {error}")
            return
        if self._file.target:
            self._outbox = Outbox(self._file.target, complain=self._complain, post=Post(self._file.allow))


def _word(*said: object) -> str:
    """What stands for something that is said, without what is in it."""
    return hashlib.blake2b(repr(said).encode(errors="surrogatepass"), digest_size=16).hexdigest()
