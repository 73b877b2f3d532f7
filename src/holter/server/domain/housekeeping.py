"""Keeps projects within what was decided about them: old runs go, and one that is full takes no new ones."""

import contextlib
import threading
import time
from collections.abc import Callable, Iterator

from holter.artifacts.collecting import collect
from holter.artifacts.moving import move
from holter.artifacts.store import Store
from holter.catalog.change.removal import protection
from holter.catalog.change.trash import weigh
from holter.errors import HolterError
from holter.journal.rundir import run_directory, used_bytes
from holter.model.state import RUNNING
from holter.server.domain.removal import remove_run
from holter.server.domain.services import Services
from holter.server.security.audit import Act
from holter.server.security.rights import Bounds
from holter.storage.filters import All, Compare, Not
from holter.storage.runs import SortKey

BY = "retention"
"""Who deletes what is too old, in the audit and in what senders are told."""
MEASURE_EVERY_S = 60.0
SWEEP_EVERY_S = 600.0
DAY_S = 86400.0
MOST_AT_ONCE = 1000


class Housekeeper(threading.Thread):
    """Looks after the projects of one server, until it is closed. What it finds too full it tells the services."""

    def __init__(self, services: Services, *, now: Callable[[], float] = time.time) -> None:
        super().__init__(name="holter-housekeeper", daemon=True)
        self._services = services
        self._now = now
        self._is_leaving = threading.Event()

    def run(self) -> None:
        """Until `close`."""
        swept_at = -SWEEP_EVERY_S
        while not self._is_leaving.wait(MEASURE_EVERY_S):
            with contextlib.suppress(HolterError, OSError):  # the next time it may work
                self.measure()
                if time.monotonic() - swept_at >= SWEEP_EVERY_S:
                    swept_at = time.monotonic()
                    self.sweep()

    def close(self) -> None:
        """End the thread; what it is in the middle of is done first."""
        self._is_leaving.set()
        if self.is_alive():
            self.join()

    def measure(self) -> None:
        """Find out which projects have more than they may. Raises HolterError, OSError."""
        limits = {name: bounds.most_bytes for name, bounds in self._bounds() if bounds.most_bytes is not None}
        full = [name for name, most in limits.items() if sum(map(self._bytes, self._runs(name))) >= most]
        self._services.full_projects = frozenset(full)

    def sweep(self) -> list[str]:
        """Delete the runs that are too old; returns which. Raises HolterError, OSError."""
        self._move_artifacts()
        collect(self._services.artifacts, now_ns=int(self._now() * 1e9))
        removed = []
        for name, bounds in self._bounds():
            for run in self._expired(name, bounds):
                if self._is_leaving.is_set():
                    break
                if self._remove(run, bounds):
                    removed.append(run)
        return removed

    def _move_artifacts(self) -> None:
        """Those that were kept here before there were other servers."""
        services = self._services
        if not isinstance(services.artifacts, Store):
            move(Store(services.data), services.artifacts, now_ns=int(self._now() * 1e9))

    def _bounds(self) -> Iterator[tuple[str, Bounds]]:
        for name, rights in self._services.access.accounts.roll.projects.items():
            yield name, rights.bounds

    def _expired(self, project: str, bounds: Bounds) -> list[str]:
        if bounds.keep_days is None:
            return []
        services = self._services
        is_old = Compare("ended_at", "<", self._now() - bounds.keep_days * DAY_S)
        query = services.question(
            where=All((Compare("project", "=", project), Not(Compare("state", "=", RUNNING)), is_old)),
            sort=(SortKey("ended_at"),),
            count=MOST_AT_ONCE,
            is_counted=False,
        )
        return [row.id for row in services.runs.query(query).runs if not (bounds.keeps_tagged and row.tags)]

    def _remove(self, run: str, bounds: Bounds) -> bool:
        """Delete it, unless something was added to it since, whatever the index says."""
        try:
            loaded = self._services.verdicts.load(run)
            candidate = weigh(loaded.row, is_settled=loaded.row.state != RUNNING)
        except (HolterError, OSError):
            return False
        age_s = self._now() - candidate.touched_at
        if protection(candidate, self._now()) or age_s < (bounds.keep_days or 0) * DAY_S:
            return False
        remove_run(self._services, run, by=BY)
        self._services.audit.note(Act(at=self._now(), user=BY, act="run-deleted", what={"run": run}))
        return True

    def _runs(self, project: str) -> list[str]:
        return [run for run, each in self._services.runs.all_projects().items() if each == project]

    def _bytes(self, run: str) -> int:
        blobs = self._services.storage.blobs
        files = sum(blobs.size(digest) or 0 for digest in blobs.attached(run).values())
        return files + (
            used_bytes(run_directory(self._services.data, run)) or self._services.ingest.received.held(run).size
        )
