"""Remembers the runs that have ended, so that listing ten thousand does not read ten thousand journals."""

import os
import time
from collections.abc import Collection

import msgspec

from holter.catalog.read.rules_stamp import rules_stamp
from holter.journal.rundir import run_directory
from holter.model.run_row import RunRow

# A file born in the same moment as the directory's time was read would not move that time.
SETTLED_NS = 2_000_000_000


class _File(msgspec.Struct):
    rules: str
    runs: list[RunRow]


_decode = msgspec.msgpack.Decoder(_File).decode


class EndedRuns:
    """A cache beside the runs, a projection like any other: it may be deleted at any time.

    An entry holds as long as the run's directory has the time it had: whatever changes a settled run (another attempt,
    a person's mark, what a later command finds out) adds a file to it. With other rules than these, none holds.
    """

    def __init__(self, data: str) -> None:
        self._data = data
        self._path = os.path.join(data, "cache", "ended-runs.msgpack")
        self._runs = self._read()
        self._is_changed = False

    def get(self, run: str) -> RunRow | None:
        """The run as it ended; None where it is not known or has changed since."""
        row = self._runs.get(run)
        if row is None:
            return None
        directory = run_directory(self._data, run)
        try:
            changed_ns = os.stat(directory).st_mtime_ns
        except OSError:
            return None
        if changed_ns != row.seen_ns:
            return None
        # All runs may have been moved together. Nobody else has this row, and ten thousand copies take their time.
        msgspec.structs.force_setattr(row, "directory", directory)
        return row

    def add(self, row: RunRow) -> None:
        """Remember a settled run."""
        try:
            changed_ns = os.stat(row.directory).st_mtime_ns
        except OSError:
            return
        if time.time_ns() - changed_ns > SETTLED_NS:
            self._runs[row.id] = msgspec.structs.replace(row, seen_ns=changed_ns)
            self._is_changed = True

    def save(self, only: Collection[str]) -> None:
        """Write down these runs, and forget the others. Atomic; a directory that can't be written only costs time."""
        kept = {run: row for run, row in self._runs.items() if run in only}
        if not self._is_changed and len(kept) == len(self._runs):
            return
        self._runs = kept
        temporary = f"{self._path}.{os.getpid()}"
        try:
            os.makedirs(os.path.dirname(self._path), mode=0o700, exist_ok=True)
            with open(os.open(temporary, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600), "wb") as file:
                file.write(msgspec.msgpack.encode(_File(rules_stamp(), list(kept.values()))))
            os.replace(temporary, self._path)
        except OSError:
            return
        self._is_changed = False

    def _read(self) -> dict[str, RunRow]:
        try:
            with open(self._path, "rb") as file:
                found = _decode(file.read())
        except (OSError, msgspec.MsgspecError):
            return {}
        return {row.id: row for row in found.runs} if found.rules == rules_stamp() else {}
