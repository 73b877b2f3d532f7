"""The port for what is known of each run beside its points: names, configuration, summary, state."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

import msgspec

from holter.model.run_row import RunRow
from holter.model.state import Lateness
from holter.storage.filters import Filter
from holter.storage.tallies import RunTallies

PLAIN_FIELDS = (
    "id name project entity group job_type notes host state cause because attempt rows steps last_step started_at"
    " ended_at duration_s heard_at last_row_at tags"
).split()
"""What can be asked for, filtered and sorted by, beside `config.…` and `summary.…`."""


class Seen(NamedTuple):
    """`seen_ns` and `rules` of a row."""

    at_ns: int
    rules: str


class SortKey(msgspec.Struct, frozen=True):
    """A field to sort by. Infinite numbers, then texts and NaN, then runs without it come last either way."""

    field: str
    is_descending: bool = False


class RunQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Which runs, in which order, and which page. Ties are broken by id."""

    now_ns: int
    lateness: Lateness = Lateness()
    where: Filter | None = None
    sort: tuple[SortKey, ...] = (SortKey("started_at", is_descending=True),)
    start: int = 0
    count: int = 50
    is_counted: bool = True
    """Whether to say how many runs there are in all; that costs more than a page."""


class RunPage(msgspec.Struct, frozen=True):
    """Runs as they are at the moment of the query. `total` is None where nobody counted."""

    runs: list[RunRow]
    total: int | None = None


class RunStore(RunTallies, Protocol):
    """Keeps one row for each run. Thread-safe; several processes may have the same place open.

    - `put` replaces the run's row as a whole and is idempotent; a row of a lower version than the one there is passed
      over, so that late and repeated writes do no harm.
    - States are computed when read, from `RunQuery.now_ns`: nothing is written when a run becomes late.
    - What `put` returned for outlives the process, and other processes see it.
    """

    def put(self, rows: Sequence[RunRow]) -> None:
        """Keep these rows, all of them or, where it raises, none. Raises StorageFull, StorageDamaged."""

    def get(self, run: str) -> RunRow | None:
        """The row of a run, None where there is none."""

    def query(self, query: RunQuery) -> RunPage:
        """A page of runs. Raises UsageError for a filter that is too much for it."""

    def projects(self) -> Mapping[str, int]:
        """How many runs each project has."""

    def seen(self) -> Mapping[str, Seen]:
        """When each run was seen last, by its id."""

    def delete(self, run: str) -> None:
        """Forget the run. Idempotent; also its version is forgotten."""
