"""Finds runs that are new, and those that changed of the many in which nothing happens any more, at a bounded cost."""

import os
import time
from collections import deque
from collections.abc import Iterator, Mapping, Set

from holter.journal.rundir import is_run_id, run_directory
from holter.server.ingest.followed_run import stamp_of

# A directory that was made in the same moment as the folder's time was read would not move that time.
SETTLED_NS = 2_000_000_000
# At each look so many are looked at as a whole, and more while there is time. The others have their turn later.
AT_LEAST, WITHIN_S = 100, 0.05


class QuietRuns:
    """Below `runs` of one data directory. Used by one thread.

    To whatever has ended a change adds a file, which is seen with one look at its directory. A file that grows is seen
    when it is the run's turn: with a thousand runs at each look, with ten thousand within a minute.
    """

    def __init__(self, data: str, stamps: Mapping[str, int]) -> None:
        self.stamps = dict(stamps)
        """By run, when its directory had changed last as somebody looked; 0 for those that were alive."""
        self._data = data
        self._folder_ns: dict[str, int] = {}
        self._turns: deque[str] = deque()
        self._listed_ns = 0

    def ids(self) -> set[str]:
        """All runs that there are."""
        try:
            return {name for name in os.listdir(os.path.join(self._data, "runs")) if is_run_id(name)}
        except FileNotFoundError:
            return set()

    def new_ids(self) -> set[str]:
        """Those that nobody knows yet. Costs nothing where none has come."""
        try:
            changed_ns = os.stat(os.path.join(self._data, "runs")).st_mtime_ns
        except FileNotFoundError:
            return set()
        if changed_ns == self._listed_ns:
            return set()
        self._listed_ns = changed_ns if time.time_ns() - changed_ns > SETTLED_NS else 0
        return self.ids() - self.stamps.keys()

    def changed(self, runs: Set[str], *, within_s: float = WITHIN_S) -> Iterator[str]:
        """Those of some runs that are not as they were; of many not all that only grew."""
        looked_at = set()
        for run in runs:
            if self._folder_ns.get(run) != self._time_of_folder(run):
                looked_at.add(run)
                if self._has_changed(run):
                    yield run
        deadline = time.monotonic() + within_s
        self._turns.extend(looked_at.difference(self._turns) if looked_at else ())
        for count in range(len(self._turns)):
            if count >= AT_LEAST and time.monotonic() > deadline:
                break
            run = self._turns.popleft()
            if run not in runs:
                self._folder_ns.pop(run, None)
                continue
            self._turns.append(run)
            if run not in looked_at and self._has_changed(run):
                yield run

    def _time_of_folder(self, run: str) -> int:
        try:
            return os.stat(run_directory(self._data, run)).st_mtime_ns
        except OSError:
            return -1

    def _has_changed(self, run: str) -> bool:
        folder_ns = self._time_of_folder(run)
        try:
            has_changed = self.stamps.get(run, 0) != stamp_of(run_directory(self._data, run))
        except OSError:
            return False
        if not has_changed and time.time_ns() - folder_ns > SETTLED_NS:
            self._folder_ns[run] = folder_ns
        return has_changed
