"""Where runs come from: what a server and the local directory both can be asked."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import msgspec
import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """Which runs, in which order, which page."""

    project: str | None = None
    filter: str = ""
    sort: str = ""
    offset: int = 0
    limit: int = 50


class Page(msgspec.Struct, frozen=True):
    """Runs as `holter ls --json` has them, at least with what a listing needs; and how many there are in all."""

    runs: list[dict[str, Any]]
    total: int


class Series(msgspec.Struct, frozen=True, eq=False):
    """Points of one metric, ordered by step: each step once, with the value that was written last."""

    steps: Floats
    times: Floats
    """Seconds since 1970."""
    values: Floats


class Sampled(msgspec.Struct, frozen=True, eq=False):
    """A metric in buckets along an axis: where each ends, its last value, and the extent of its values."""

    places: Floats
    values: Floats
    low: Floats
    high: Floats


class FileEntry(msgspec.Struct, frozen=True):
    """A file of a run."""

    path: str
    size: int


class RunSource(Protocol):
    """What is known of runs, and what can be done to them. All raise NoRun for one that is not there."""

    def page(self, wanted: Wanted) -> Page:
        """A page of runs. Raises FilterError."""

    def detail(self, run: str) -> dict[str, Any]:
        """One run with its configuration and summary."""

    def verdict(self, run: str) -> dict[str, Any]:
        """Why it ended, as `holter why --json` has it."""

    def edit(self, run: str, changes: Mapping[str, Any]) -> None:
        """Give it another name, other tags or notes."""

    def delete(self, run: str) -> None:
        """Remove it for good; not one that is alive."""


class ContentSource(Protocol):
    """What was recorded in runs."""

    def keys(self, run: str) -> list[str]:
        """The names of its metrics; what was measured of the machine begins with `system/`."""

    def series(self, run: str, key: str) -> Series:
        """All points of a metric."""

    def sampled(self, run: str, keys: Sequence[str], *, x: str, buckets: int) -> dict[str, Sampled]:
        """Metrics in at most so many buckets each; `x` is step, time, relative or the key of a metric."""

    def console(self, run: str, count: int) -> list[str]:
        """The last lines that it printed."""

    def files(self, run: str) -> list[FileEntry]:
        """Its files but the journals."""

    def read_file(self, run: str, path: str) -> bytes:
        """The content of one."""


class Source(RunSource, ContentSource, Protocol):
    """Both."""
