"""Columns that are put together from lines of their own, and made into frames of other libraries."""

import sys

import numpy as np
import pytest

from holter.api.columns import Columns, joined
from holter.errors import UsageError


def test_lines_with_places_of_their_own_become_one_table() -> None:
    one = (np.array([1.0, 3.0]), np.array([10.0, 30.0]))
    other = (np.array([2.0, 3.0]), np.array([0.2, 0.3]))
    table = joined("_step", {"one": one, "other": other})
    assert table["_step"].tolist() == [1, 2, 3]
    np.testing.assert_array_equal(table["one"], [10, np.nan, 30])
    np.testing.assert_array_equal(table["other"], [np.nan, 0.2, 0.3])
    assert table.rows == 3


def test_nothing_is_a_table_without_rows() -> None:
    assert joined("_step", {}).rows == 0


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames_of_other_libraries_have_the_same_columns(library: str) -> None:
    pytest.importorskip(library, reason=f"no {library}")
    table = Columns({"_step": np.array([0.0, 1.0]), "loss": np.array([0.5, 0.25])})
    frame = table.to_pandas() if library == "pandas" else table.to_polars()
    assert list(frame.columns) == ["_step", "loss"]
    assert frame["loss"].to_list() == [0.5, 0.25]


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_without_the_library_it_is_said_what_to_do(library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(UsageError, match=f"{library} is not installed: `pip install {library}`"):
        getattr(Columns(), f"to_{library}")()
