"""Judges the runs again that other rules had judged: a new version may know better why a run ended long ago."""

import time
from collections import deque
from collections.abc import Mapping

import msgspec

from holter.catalog.judge.verdict import judge
from holter.catalog.read.rules_stamp import rules_stamp
from holter.catalog.read.run_view import load_run
from holter.catalog.read.sightings import Sightings
from holter.errors import JournalError
from holter.journal.rundir import run_directory
from holter.model.run_row import RunRow
from holter.model.state import Lateness
from holter.server.ingest.followed_run import with_verdict
from holter.server.ingest.run_rows import by_their_clock
from holter.storage.runs import RunStore, Seen


class OldVerdicts:
    """Those in the table as it was found, the newest first. Used by one thread.

    Whatever is alive is judged when it ends, and is none of them.
    """

    def __init__(self, data: str, runs: RunStore, *, seen: Mapping[str, Seen], sightings: Sightings) -> None:
        self._data = data
        self._runs = runs
        self._sightings = sightings
        old = [(at_ns, run) for run, (at_ns, rules) in seen.items() if at_ns and rules != rules_stamp()]
        self._waiting = deque(run for _, run in sorted(old, reverse=True))

    def renew(self, now_ns: int, lateness: Lateness, *, within_s: float) -> list[RunRow]:
        """Judge some again, one at least; returns those whose rows are others now. Raises StorageError."""
        deadline = time.monotonic() + within_s
        renewed: list[RunRow] = []
        changed = []
        while self._waiting and (not renewed or time.monotonic() < deadline):
            row = self._runs.get(self._waiting.popleft())
            if row is None or row.rules == rules_stamp():  # it was woken, and is judged
                continue
            try:
                again = self._judge(row, now_ns, lateness)
            except Exception:  # noqa: BLE001  the boundary: holter fails over this run, which stays as it was
                again = row
            renewed.append(msgspec.structs.replace(again, rules=rules_stamp()))
            changed += [again] if again != row else []
        if renewed:
            self._runs.put(renewed)
        return changed

    def _judge(self, row: RunRow, now_ns: int, lateness: Lateness, /) -> RunRow:
        directory = run_directory(self._data, row.id)
        try:
            loaded = load_run(directory, now_ns=now_ns, lateness=lateness)
            if loaded is not None and row.heard_ns is not None:
                theirs_ns = by_their_clock(now_ns, loaded.digests, heard_ns=row.heard_ns)
                loaded = load_run(directory, now_ns=theirs_ns, lateness=lateness)
        except (JournalError, OSError):  # it stays as it was when it could be read
            return row
        return with_verdict(row, judge(loaded, self._sightings) if loaded is not None else None)
