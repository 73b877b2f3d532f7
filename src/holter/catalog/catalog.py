"""Finds the runs under one data directory, quickly also when there are ten thousand."""

import os
import time
from collections.abc import Callable, Container, Sequence

from holter.catalog.change.completion import complete, complete_files
from holter.catalog.change.deletions import Deletions
from holter.catalog.judge.verdict import judge
from holter.catalog.read.ended_runs import EndedRuns
from holter.catalog.read.loaded_run import LoadedRun, is_awaited, put_together, read_digests
from holter.catalog.read.unreadable import reason_of, unreadable_row
from holter.errors import JournalError, NoRun, Unreadable
from holter.journal.digest import Digest
from holter.journal.rundir import run_directory
from holter.model.records import KERNEL
from holter.model.run_row import RunRow
from holter.model.state import Lateness

PATIENCE_S = 2.0
POLL_S = 0.05


class Catalog:
    """Reads one data directory. Completes on the way what a sidecar that died could not write any more.

    Args:
        now_ns: the time by the clock of the machine that wrote these journals, where that is known to differ from ours.
    """

    def __init__(
        self,
        data: str,
        lateness: Lateness | None = None,
        *,
        now_ns: Callable[[Sequence[Digest]], int] = lambda _: time.time_ns(),
    ) -> None:
        self.data = data
        self.unreadable: dict[str, str] = {}
        """Directories that could not be read, with the reason; filled by `rows`."""
        self.settled: set[str] = set()
        """Runs to which nobody is left to add anything; filled by `rows`."""
        self._lateness = lateness or Lateness()
        self._now_ns = now_ns
        self._ended = EndedRuns(data)

    def rows(self, among: Container[str] | None = None) -> list[RunRow]:
        """All runs, or those with these ids, the newest first."""
        rows = []
        ids = self._ids()
        for run in ids:
            if among is not None and run not in among:
                continue
            if (row := self._ended.get(run)) is not None:
                self.settled.add(run)
            elif (row := self._row(run)) is None:
                continue
            rows.append(row)
        self._ended.save(only=set(ids))
        return sorted(rows, key=lambda row: (-row.started_ns, row.id))

    def load(self, run: str, patience_s: float = PATIENCE_S) -> LoadedRun:
        """All about one run. Waits a moment where its process has just died and its sidecar is still writing.

        Raises NoRun, NewerJournal, Unreadable, OSError.
        """
        directory = run_directory(self.data, run)
        deadline = time.monotonic() + patience_s
        while (loaded := self._load(directory)) and is_awaited(loaded.digests, self._now_ns(loaded.digests)):
            if time.monotonic() > deadline:
                loaded = self._load(directory, is_patient=False)
                break
            time.sleep(POLL_S)
        if loaded is None:
            raise NoRun(f"run {run} has no readable journal in {directory}")
        loaded = self._completed(loaded)
        if loaded.is_settled:
            complete_files(loaded)
        return judge(loaded)

    def find(self, wanted: str | None) -> str:
        """The id that a person means: an id, the beginning of one, a name; nothing for the newest. Raises NoRun."""
        if wanted and wanted in self._ids():
            return wanted
        rows = self.rows()
        if not rows:
            raise self._missing(wanted, is_empty=True)
        if not wanted:
            # A kernel that is recorded for its own sake is meant only where there is nothing else.
            return next((row.id for row in rows if row.kind != KERNEL), rows[0].id)
        named = [row.id for row in rows if row.name == wanted]
        begun = [row.id for row in rows if row.id.startswith(wanted)]
        if named:
            return named[0]
        if len(begun) == 1:
            return begun[0]
        if begun:
            raise NoRun(f"{wanted!r} could be {', '.join(begun[:5])}: give more of it")
        raise self._missing(wanted)

    def _missing(self, wanted: str | None, *, is_empty: bool = False) -> NoRun:
        if wanted and (deletion := Deletions(self.data).find(wanted)) is not None:
            return NoRun(f"run {wanted} is not in {self.data} any more: it was deleted {deletion}")
        if is_empty:
            return NoRun(
                f"there are no runs in {self.data} yet: holter.init() in a program records one; HOLTER_DIR moves it"
            )
        return NoRun(f"no run {wanted!r} in {self.data}: `holter ls` lists them")

    def _ids(self) -> list[str]:
        try:
            found = os.listdir(os.path.join(self.data, "runs"))
        except FileNotFoundError:  # nobody has recorded anything here yet
            return []
        return [name for name in found if not name.startswith(".")]

    def _load(self, directory: str, *, is_patient: bool = True) -> LoadedRun | None:
        try:
            digests = read_digests(directory)
            now_ns = self._now_ns(digests)
            return put_together(directory, digests, now_ns=now_ns, lateness=self._lateness, is_patient=is_patient)
        except (JournalError, OSError):
            raise
        except Exception as error:  # the boundary: what one run says ends no look at all of them
            raise Unreadable(f"run {os.path.basename(directory)}: {reason_of(error)}") from error

    def _completed(self, loaded: LoadedRun) -> LoadedRun:
        return (self._load(loaded.row.directory) if complete(loaded) else None) or loaded

    def _row(self, run: str) -> RunRow | None:
        directory = run_directory(self.data, run)
        try:
            loaded = self._load(directory)
        except OSError as error:
            if not os.path.islink(directory) or os.path.exists(directory):  # else somebody removed what it led to
                self.unreadable[directory] = error.strerror or str(error)
            return None
        except Unreadable as error:
            # It began when its directory was last touched, for want of a better word.
            known = RunRow(id=run, name=run, started_ns=os.stat(directory).st_mtime_ns, directory=directory)
            return unreadable_row(known, because=str(error))
        except JournalError as error:
            self.unreadable[directory] = str(error)
            return None
        if loaded is None:
            return None
        if loaded.outcome.is_final and not is_awaited(loaded.digests, self._now_ns(loaded.digests)):
            loaded = self._completed(loaded)
        loaded = judge(loaded)
        if loaded.is_settled:
            self.settled.add(run)
            self._ended.add(loaded.row)
        return loaded.row
