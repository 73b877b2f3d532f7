"""Columns of the same length by name, as numpy arrays; also as frames of pandas or polars where they are installed."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from holter.api.source import Floats
from holter.errors import UsageError

if TYPE_CHECKING:
    import numpy.typing as npt


class Columns(dict[str, "npt.NDArray[Any]"]):
    """A table: each column is a numpy array, NaN where there is no value."""

    def to_pandas(self) -> Any:
        """A pandas.DataFrame. Raises UsageError where pandas is not installed."""
        try:
            import pandas
        except ImportError as error:
            raise UsageError("pandas is not installed: `pip install pandas`, or use the columns as they are") from error
        return pandas.DataFrame(dict(self))

    def to_polars(self) -> Any:
        """A polars.DataFrame. Raises UsageError where polars is not installed."""
        try:
            import polars
        except ImportError as error:
            raise UsageError("polars is not installed: `pip install polars`, or use the columns as they are") from error
        return polars.DataFrame(dict(self))

    if not TYPE_CHECKING:  # where it would hide every slip of the pen

        def __getattr__(self, name: str) -> Any:
            # W&B answers with a frame: `.columns`, `.iloc` and so on work here too.
            if name.startswith("_"):
                raise AttributeError(name)
            return getattr(self.to_pandas(), name)

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return len(next(iter(self.values()), ()))


def joined(axis: str, lines: Mapping[str, tuple[Floats, Floats]]) -> Columns:
    """One table of several lines, each with its own places along one axis; NaN where a line has no point. Pure."""
    places = np.unique(np.concatenate([place for place, _ in lines.values()])) if lines else np.empty(0)
    table = Columns({axis: places})
    for name, (own, values) in lines.items():
        column = np.full(len(places), np.nan)
        column[np.searchsorted(places, own)] = values
        table[name] = column
    return table
