"""The port for what is known of many runs together: which settings they have, and how they fall into groups."""

from collections.abc import Sequence
from typing import Protocol

import msgspec

from holter.model.state import Lateness
from holter.storage.filters import Filter


class GroupQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Runs that fit a filter, in groups with the same value of a field; one with several tags is in several groups."""

    by: str
    """A field of runs, as filters name it."""
    now_ns: int
    lateness: Lateness = Lateness()
    where: Filter | None = None
    columns: tuple[str, ...] = ()
    """Below `config.` or `summary.`: of these each group has its mean."""
    sort: str = ""
    """One of the columns: groups are sorted by its mean, those without one last. Else by their own value."""
    is_descending: bool = False
    most: int = 1000


class Moments(msgspec.Struct, frozen=True):
    """Of the finite numbers that a group has in a column; there is at least one. `std` is that of all of them."""

    count: int
    mean: float
    std: float


class Group(msgspec.Struct, frozen=True):
    """Runs with the same value; None for those without one. `states` says how many are in each state."""

    value: str | float | None
    runs: int
    states: dict[str, int]
    columns: dict[str, Moments]


class GroupPage(msgspec.Struct, frozen=True):
    """The first groups, and how many there are."""

    groups: list[Group]
    total: int


class RunTallies(Protocol):
    """Looks at many runs at once. Thread-safe."""

    def groups(self, query: GroupQuery) -> GroupPage:
        """How runs fall into groups. Raises UsageError for a filter that is too much for it."""

    def fields(self, project: str | None = None) -> Sequence[str]:
        """Every `config.…` and `summary.…` that some run of a project has, or of all projects, sorted."""
