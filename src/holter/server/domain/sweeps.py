"""The sweeps of this server: their books are in its data directory, as at home, or where other servers have them."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from holter.errors import NoSweep, Refused
from holter.server.security.rights import Rights
from holter.storage.opening import open_sweeps
from holter.storage.places import Places
from holter.sweeps.configuration import Configuration
from holter.sweeps.opening import KeptSweep, begin_kept, open_kept
from holter.sweeps.present import SweepLine, line_of

MOST_OPEN = 200


class Sweeps:
    """Those of one server. Thread-safe: one thread at a time is at a sweep.

    Args:
        data: where runs lie, once `bring` was called with their id.
    """

    def __init__(self, data: str, places: Places, *, bring: Callable[[str], None]) -> None:
        self._data = data
        self._bring = bring
        self._store = open_sweeps(data, places)
        self._open: dict[str, tuple[threading.RLock, KeptSweep]] = {}
        self._lock = threading.Lock()
        self._adopt()

    def all(self, rights: Rights, project: str) -> list[SweepLine]:
        """Those that somebody may see, of a project or of all, the newest first."""
        if rights.only is not None:
            return []
        found = [each for each in map(self._line, self._store.names()) if each.project not in rights.hidden]
        return sorted((each for each in found if project in ("", each.project)), key=lambda each: -each.begun_at)

    def begin(self, configuration: Configuration, *, project: str, by: str) -> str:
        """Make one; returns its id. Raises UsageError, StorageError, OSError."""
        return begin_kept(self._store, configuration, project=project, by=by)

    def close(self) -> None:
        """Idempotent."""
        self._store.close()

    @contextmanager
    def at(self, sweep: str, rights: Rights, *, to_change: bool = False) -> Iterator[KeptSweep]:
        """One that somebody may see, or change. Raises Refused."""
        lock, found = self._find(sweep)
        with lock:
            state = found.state()
            if state.project in rights.hidden or rights.only is not None:
                raise _missing(sweep)
            if to_change and not rights.may_change(state.project):
                raise Refused(
                    403,
                    f"you may not change the sweeps of {state.project[:100]!r}",
                    why="those who may change its runs may do this",
                    do="ask an admin to name you as a writer",
                )
            yield found

    def _find(self, sweep: str) -> tuple[threading.RLock, KeptSweep]:
        with self._lock:
            if sweep not in self._open:
                try:
                    found = open_kept(self._store, sweep, data=self._data, bring=self._bring)
                except NoSweep as error:
                    raise _missing(sweep) from error
                if len(self._open) >= MOST_OPEN:
                    self._open.pop(next(iter(self._open)))
                self._open[sweep] = threading.RLock(), found
            return self._open[sweep]

    def _line(self, sweep: str) -> SweepLine:
        lock, found = self._find(sweep)
        with lock:
            return line_of(found)

    def _adopt(self) -> None:
        """Sweeps of a data directory from before its server had them elsewhere go on there."""
        here = open_sweeps(self._data)
        for sweep in {*here.names()} - {*self._store.names()}:
            with suppress(FileExistsError):  # another server was quicker
                self._store.begin(sweep, here.open(sweep).read(0).lines)


def _missing(sweep: str) -> Refused:
    return Refused(404, f"there is no sweep {sweep[:100]!r}", why="nobody began it here", do="see the list of sweeps")
