"""Keeps copies of runs as they should be: new where others were sent something, and gone where nobody needs them."""

import contextlib
import os
import shutil
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable

from holter.errors import StorageError
from holter.journal.rundir import is_run_id
from holter.server.ingest.copies import CopiedRuns, adopt, unread_copies

EVERY_S, CALLED_EVERY_S = 1.0, 0.2
"""Between two looks, and where another server calls for one."""
LOOK_AT_ALL_EVERY_S = 30.0
"""In between only what grew is asked for."""
SEAL_EVERY_S = 10.0
UNUSED_S, SOON_UNUSED_S = 600.0, 30.0
"""A copy of what is not digested here goes when nobody has asked for it for so long, and sooner on a full disk."""
FULL = 0.9
"""A disk of which so much is taken is full of copies."""
MOST_AT_ONCE = 100


class Copying(threading.Thread):
    """Looks for what other servers were sent."""

    def __init__(self, runs: CopiedRuns, *, tell: Callable[[list[str]], None], complain: Callable[[str], None]) -> None:
        super().__init__(name="holter-copies", daemon=True)
        self._runs = runs
        self._tell = tell
        self._complain = complain
        self._is_leaving = False
        self._called = threading.Event()
        self._begun: deque[str] = deque()
        self._tidying = Tidying(runs, complain)
        runs.complain = complain

    def run(self) -> None:
        """Until `close`."""
        self._tidying.start()
        since_s, looked_at = 0.0, 0.0
        while not self._is_leaving:
            self._called.clear()
            try:
                adopt(self._runs)
                is_for_all = not since_s or time.monotonic() - looked_at > LOOK_AT_ALL_EVERY_S
                begun = list(self._begun)
                found, since_s = self._runs.look(0.0 if is_for_all else since_s, begun=begun)
                for _ in begun:
                    self._begun.popleft()
                looked_at = time.monotonic() if is_for_all else looked_at
                self._tell(found)
            except (StorageError, OSError) as error:
                self._complain(str(error))
            time.sleep(CALLED_EVERY_S)
            self._called.wait(EVERY_S - CALLED_EVERY_S)

    def begin(self, runs: Iterable[str]) -> None:
        """Runs are ours now: have their copies made. For any thread."""
        self._begun.extend(runs)
        self._called.set()

    def call(self) -> None:
        """Look now: something was received elsewhere. For any thread."""
        self._called.set()

    def close(self) -> None:
        """End the thread and wait for it. Idempotent."""
        self._is_leaving = True
        self._called.set()
        self._tidying.close()
        if self.is_alive():
            self.join()


class Tidying(threading.Thread):
    """Moves what was received to where it may lie for years, megabytes at a time, and throws away copies."""

    def __init__(self, runs: CopiedRuns, complain: Callable[[str], None]) -> None:
        super().__init__(name="holter-tidying", daemon=True)
        self._runs = runs
        self._complain = complain
        self._is_leaving = threading.Event()

    def run(self) -> None:
        """Until `close`."""
        while not self._is_leaving.wait(SEAL_EVERY_S):
            try:
                self._runs.seal()
                throw_away(self._runs)
            except (StorageError, OSError) as error:
                self._complain(str(error))

    def close(self) -> None:
        """End the thread and wait for it. Idempotent."""
        self._is_leaving.set()
        if self.is_alive():
            self.join()


def throw_away(runs: CopiedRuns) -> list[str]:
    """Drop copies that nobody needs, the longest unused first, some of them; returns whose. One server keeps all,
    and so do all where somebody reads them.

    Raises StorageError, OSError.
    """
    if (ours := runs.leases.numbers()) is None:
        return []
    disk = shutil.disk_usage(runs.data)
    unused_s = SOON_UNUSED_S if disk.used > FULL * disk.total else UNUSED_S
    before = time.monotonic() - unused_s
    there: list[str] = []
    with contextlib.suppress(FileNotFoundError):
        there = [name for name in os.listdir(os.path.join(runs.data, "runs")) if is_run_id(name) and name not in ours]
    old = sorted((at, run) for run in there if (at := runs.used.get(run, runs.began_at)) < before)
    if not old:
        return []
    with unread_copies(runs.data) as is_unread:
        return [run for _, run in old[:MOST_AT_ONCE] if _is_dropped(runs, run)] if is_unread else []


def _is_dropped(runs: CopiedRuns, run: str) -> bool:
    runs.used[run] = time.monotonic()  # one that stays is not the first again next time
    return runs.drop(run)
