"""Deletes the runs of projects that keep them for a time only."""

import threading
from collections.abc import Iterator
from typing import Any

import msgspec

from holter.errors import HolterError
from holter.model.state import RUNNING
from holter.server.desk import Desk
from holter.server.removal import remove_run
from holter.server.security.audit import Act
from holter.storage.filters import Compare
from holter.storage.runs import RunQuery, SortKey

EVERY_S = 3600.0
DAY_S = 86400.0
PAGE = 500
BY = "retention"
"""Who deleted a run, as its sender is told."""


class Retention:
    """Looks once an hour, in a thread of its own."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._work, name="retention", daemon=True)

    def start(self) -> None:
        """Look now, and then from time to time."""
        self._thread.start()

    def close(self) -> None:
        """Leave the rest for the next time. Idempotent."""
        self._is_over.set()

    def sweep(self) -> None:
        """Delete what is overdue now. Raises HolterError, OSError."""
        for run in list(overdue(self._desk)):
            if self._is_over.is_set():
                return
            remove_run(self._desk, run, by=BY)
            self._desk.audit.note(Act(at=self._desk.now(), user=BY, act="run-deleted", what={"run": run}))

    def _work(self) -> None:
        while not self._is_over.is_set():
            try:
                self.sweep()
            except (HolterError, OSError) as error:
                self._desk.complaints.say(f"old runs could not be deleted: {error}")
            self._is_over.wait(EVERY_S)


def overdue(desk: Desk) -> Iterator[str]:
    """The runs that ended longer ago than their project keeps them; never one that runs."""
    decided = desk.doorman.people.roll.projects
    for project, keep in [(name, each.keep) for name, each in decided.items() if each.keep is not None]:
        for fields in _ended(desk, project, before=desk.now() - keep.days * DAY_S):
            if not (keep.is_tagged_kept and fields.get("tags")):
                yield fields["id"]


def _ended(desk: Desk, project: str, *, before: float) -> Iterator[dict[str, Any]]:
    query = RunQuery(
        now_ns=desk.clock.now_ns(),
        lateness=desk.lateness,
        where=Compare("project", "=", project),
        sort=(SortKey("ended_at"),),
        columns=("id", "state", "ended_at", "tags"),
        count=PAGE,
        is_counted=False,
    )
    start = 0
    while found := desk.storage.runs.query(msgspec.structs.replace(query, start=start)).runs:
        for fields in found:
            if fields.get("ended_at") is None or fields["ended_at"] >= before:
                return  # those without an end come last
            if fields["state"] != RUNNING:
                yield fields
        start += PAGE
