"""Judges the runs again that other rules had judged: a new version may know better why a run ended long ago."""

import time
from collections import deque
from collections.abc import Mapping

import msgspec

from holter.catalog.judge.verdict import judge_anew
from holter.catalog.read.loaded_run import put_together, read_digests
from holter.catalog.read.machines import Machines
from holter.catalog.read.rules_stamp import rules_stamp
from holter.errors import JournalError, StorageError
from holter.journal.rundir import run_directory
from holter.model.run_row import RunRow
from holter.model.state import FINISHED, RUNNING, Lateness
from holter.server.ingest.followed_run import keep_verdict, with_verdict
from holter.server.ingest.run_rows import by_their_clock
from holter.storage.opening import Storage
from holter.storage.runs import Seen


class OldVerdicts:
    """Those in the table as it was found, the newest first, and what comes from machines with other rules than ours.

    Used by one thread. Whatever is alive is judged when it ends, and is none of them.
    """

    def __init__(self, data: str, storage: Storage, *, seen: Mapping[str, Seen], machines: Machines) -> None:
        self._data = data
        self._storage = storage
        self._machines = machines
        old = [(at_ns, run) for run, (at_ns, rules) in seen.items() if at_ns and rules != rules_stamp()]
        self._waiting = deque(run for _, run in sorted(old, reverse=True))

    def add(self, row: RunRow) -> None:
        """Have a run judged again where other rules than ours were asked."""
        if row.rules != rules_stamp() and row.id not in self._waiting:
            self._waiting.append(row.id)

    def renew(self, now_ns: int, lateness: Lateness, *, within_s: float) -> list[RunRow]:
        """Judge some again, one at least; returns those whose rows are others now. Raises StorageError."""
        deadline = time.monotonic() + within_s
        renewed: list[RunRow] = []
        changed = []
        while self._waiting and (not renewed or time.monotonic() < deadline):
            row = self._storage.runs.get(self._waiting.popleft())
            if row is None or row.rules == rules_stamp():  # it was woken, and is judged
                continue
            try:
                again = self._judge(row, now_ns, lateness)
            except StorageError:
                raise
            except Exception:  # noqa: BLE001  the boundary: holter fails over this run, which stays as it was
                again = row
            renewed.append(msgspec.structs.replace(again, rules=rules_stamp()))
            changed += [again] if again != row else []
        if renewed:
            self._storage.runs.put(renewed)
        return changed

    def _judge(self, row: RunRow, now_ns: int, lateness: Lateness, /) -> RunRow:
        directory = run_directory(self._data, row.id)
        try:
            digests = read_digests(directory)
            theirs_ns = by_their_clock(now_ns, digests, heard_ns=row.heard_ns)
            loaded = put_together(directory, digests, now_ns=theirs_ns, lateness=lateness)
        except (JournalError, OSError):  # it stays as it was when it could be read
            return row
        if loaded is None or loaded.by_itself.state in (RUNNING, FINISHED):
            return with_verdict(row, loaded)
        judged = judge_anew(loaded, self._machines)
        keep_verdict(self._storage, judged)
        return with_verdict(row, judged)
