"""Where runs come from, a server or the local directory, and what both are asked and answer."""

from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec
import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from holter.api.local import LocalSource
    from holter.api.remote import RemoteSource

Source: TypeAlias = "LocalSource | RemoteSource"
"""Both raise NoRun for a run that is not there."""
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
