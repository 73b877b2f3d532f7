"""The port for series: points by run, key and step."""

from collections.abc import Mapping, Sequence
from typing import Literal, Protocol

import msgspec
import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Marks = npt.NDArray[np.uint8]

NAN, POSITIVE_INFINITY, NEGATIVE_INFINITY = 1, 2, 4
"""The bits of a bucket's marks."""

Axis = Literal["step", "time"]


class Rows(msgspec.Struct, frozen=True, eq=False):
    """Rows of one key set in the order in which they were written; `values` has a line for each key."""

    keys: tuple[str, ...]
    steps: Ints
    at_ns: Ints
    offsets: Ints
    """Where in the journal each row lies; ascending."""
    values: Floats


class SeriesBatch(msgspec.Struct, frozen=True, eq=False):
    """The rows of one range of a journal, at most one `Rows` for each key set; `start` <= their offsets < `stop`."""

    run: str
    journal: str
    start: int
    stop: int
    rows: tuple[Rows, ...] = ()


class SeriesInfo(msgspec.Struct, frozen=True):
    """What there is of one series; every step counts once."""

    key: str
    points: int
    first_step: int
    last_step: int


class Points(msgspec.Struct, frozen=True, eq=False):
    """Points in the order of steps, each step once."""

    steps: Ints
    at_ns: Ints
    values: Floats


class Line(msgspec.Struct, frozen=True):
    """A series as somebody wants to see it. `origin` is taken from its times: relative time is time with an origin."""

    run: str
    key: str
    origin: int = 0


class Window(msgspec.Struct, frozen=True):
    """What part of an axis to cut into at most `buckets` parts; ends are included, None is as far as points go."""

    buckets: int
    axis: Axis = "step"
    first: int | None = None
    last: int | None = None


class Buckets(msgspec.Struct, frozen=True, eq=False):
    """Columns of one length. A bucket is exact for the points from `first` to `last`, both of which are points.

    `low`, `high` and `mean` are those of the finite values, NaN where there are none; `final` is the last value as it
    is; `marks` says which values beside finite ones there are.
    """

    first: npt.NDArray[np.int64] | Floats
    last: npt.NDArray[np.int64] | Floats
    low: Floats
    high: Floats
    mean: Floats
    final: Floats
    counts: Ints
    marks: Marks


class SeriesReader(Protocol):
    """Reads points; see `SeriesStore`. Nothing raises for a run or key that is not there: it is empty."""

    def list_series(self, run: str) -> list[SeriesInfo]:
        """All series of a run, by key."""

    def count_keys(self, runs: Sequence[str]) -> Mapping[str, int]:
        """Every key that some of these runs have, and how many of them."""

    def points(
        self, line: Line, *, first: int | None = None, last: int | None = None, most: int | None = None
    ) -> Points:
        """Every point with a step from `first` to `last`, both included, or the first `most` of them."""

    def buckets(self, lines: Sequence[Line], window: Window) -> list[Buckets]:
        """At most `window.buckets` buckets for each line, ordered and disjoint, with every point in one of them."""


class SeriesStore(SeriesReader, Protocol):
    """Keeps points. Thread-safe; several processes may have the same place open.

    - A point is (run, key, step, time, value). NaN and the infinities are values. Steps may come in any order; of
      several writes to a (run, key, step) the last one holds, by (time, journal, offset), whatever order they come in.
    - `append` is idempotent by (journal, offset): what the store has is passed over, also where a batch overlaps it.
      The batches of a journal come in order; one that begins behind what the store has is refused with OffsetGap.
    - Reads see what this process has appended at the latest after `sync`, and what other processes synced.
    - After the death of a process the caller appends again from `offset` on; then nothing is lost or doubled.
    """

    def append(self, batch: SeriesBatch) -> None:
        """Add the rows of a range. Raises OffsetGap, StorageFull, StorageDamaged."""

    def offset(self, run: str, journal: str) -> int:
        """From where on the journal must be appended again if this process died now; grows, at times not for long."""

    def sync(self, run: str | None = None) -> None:
        """Bring what was appended to one run, or all, to where it outlives this process and others see it."""

    def let_go(self, run: str) -> None:
        """Forget what this process has appended to the run and not synced: another one goes on, from the journals."""

    def delete(self, run: str) -> None:
        """Forget the run. Idempotent; what is appended later begins from offset 0."""
