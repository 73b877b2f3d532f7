"""Which runs there are, and of them those that somebody may know of."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, cast

import msgspec

from holter.model.run_row import RunRow
from holter.server.domain.slots import Slots
from holter.server.security.rights import Rights
from holter.storage.filters import All, Among, Filter, Not
from holter.storage.run_fields import flat_fields
from holter.storage.runs import RunPage, RunQuery, RunStore, Seen
from holter.storage.tallies import GroupPage, GroupQuery

if TYPE_CHECKING:
    from holter.storage.opening import Closable

MOST_RUNS = 1 << 40


class KnownRuns:
    """The runs of a store, which also remembers the project of each: rights are decided without a look at the disk.

    Each row that it puts or gives has the slot of its colour.

    Args:
        placed: a row as it may be kept: in no project to which its owner may not send.
    """

    def __init__(self, store: RunStore, *, placed: Callable[[RunRow], RunRow] = lambda row: row) -> None:
        self._store = store
        self._placed = placed
        query = RunQuery(now_ns=0, sort=(), count=MOST_RUNS, is_counted=False)
        self._slots = Slots()
        rows = sorted(store.query(query).runs, key=lambda row: (row.slot is None, row.started_ns, row.id))
        self._projects = {row.id: self._coloured(row).project for row in rows}

    def project_of(self, run: str) -> str | None:
        """None for a run that has no row."""
        return self._projects.get(run)

    def all_projects(self) -> dict[str, str]:
        """The project of every run that has a row."""
        return dict(self._projects)

    def put(self, rows: Sequence[RunRow]) -> None:
        """As the store does."""
        rows = [self._coloured(self._placed(row)) for row in rows]
        self._store.put(rows)
        self._projects.update({row.id: row.project for row in rows})

    def get(self, run: str) -> RunRow | None:
        """As the store does."""
        row = self._store.get(run)
        return None if row is None else self._coloured(row)

    def query(self, query: RunQuery) -> RunPage:
        """As the store does."""
        page = self._store.query(query)
        return RunPage([self._coloured(row) for row in page.runs], page.total)

    def groups(self, query: GroupQuery) -> GroupPage:
        """As the store does."""
        return self._store.groups(query)

    def fields(self, project: str | None = None) -> Sequence[str]:
        """As the store does."""
        return self._store.fields(project)

    def projects(self) -> Mapping[str, int]:
        """As the store does."""
        return self._store.projects()

    def seen(self) -> Mapping[str, Seen]:
        """As the store does."""
        return self._store.seen()

    def delete(self, run: str) -> None:
        """As the store does."""
        self._store.delete(run)
        self._projects.pop(run, None)
        self._slots.forget(run)

    def learn(self, run: str, project: str | None) -> None:
        """Another server has put the row of a run, or deleted it."""
        if project is not None:
            self._projects[run] = project
        else:
            self._projects.pop(run, None)
            self._slots.forget(run)

    def close(self) -> None:
        """As the store does."""
        cast("Closable", self._store).close()

    def _coloured(self, row: RunRow) -> RunRow:
        slot = self._slots.of(row.id, row.project, started_ns=row.started_ns, known=row.slot)
        return row if row.slot == slot else msgspec.structs.replace(row, slot=slot)


class VisibleRuns:
    """The runs of a store that somebody may know of: whoever asks it can't tell that there are others."""

    def __init__(self, store: KnownRuns, rights: Rights) -> None:
        self._store = store
        self._rights = rights

    def has(self, run: str) -> bool:
        """Whether there is such a run, as far as they may know."""
        project = self._store.project_of(run)
        return project is not None and self._rights.may_see(run, project)

    def get(self, run: str) -> RunRow | None:
        """The row of a run, None where there is none."""
        return self._store.get(run) if not self._rights.is_limited or self.has(run) else None

    def query(self, query: RunQuery) -> RunPage:
        """A page of runs."""
        return self._store.query(msgspec.structs.replace(query, where=self._of_theirs(query.where)))

    def groups(self, query: GroupQuery) -> GroupPage:
        """How runs fall into groups."""
        return self._store.groups(msgspec.structs.replace(query, where=self._of_theirs(query.where)))

    def fields(self, project: str) -> Sequence[str]:
        """Every `config.…` and `summary.…` that some run of a project has."""
        if not self._rights.is_limited:
            return self._store.fields(project)
        if self._rights.only is not None:
            rows = [row for run in self._rights.only if (row := self.get(run)) is not None and row.project == project]
            return sorted({name for row in rows for name in flat_fields(row)})
        return [] if project in self._rights.hidden else self._store.fields(project)

    def _of_theirs(self, where: Filter | None) -> Filter | None:
        parts: list[Filter] = [] if where is None else [where]
        if self._rights.hidden:
            parts.append(Not(Among("project", tuple(sorted(self._rights.hidden)))))
        if self._rights.only is not None:
            parts.append(Among("id", tuple(sorted(self._rights.only))))
        return All(tuple(parts)) if parts else None

    def projects(self) -> Mapping[str, int]:
        """How many runs each project has."""
        if self._rights.only is not None:
            return Counter(self._store.project_of(run) or "" for run in self._rights.only if self.has(run))
        return {name: count for name, count in self._store.projects().items() if name not in self._rights.hidden}
