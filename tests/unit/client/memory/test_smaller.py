"""What would hold the same in less, as far as that can be known."""

import types
from collections.abc import Callable
from typing import Any

import numpy
import pandas
import polars
import pyarrow
import pytest
import torch

from holter.client.memory.variables import variables

MIB = 1 << 20


def smaller(value: object, source: str = "") -> list[str]:
    namespace = {"x": value, "_ih": [source], "_oh": {}}
    shell = types.SimpleNamespace(user_ns_hidden={})  # as much of IPython's as is asked for
    found = variables(namespace, budget_s=5.0, shell=shell)
    return [text for each in found if each.name == "x" for text in each.smaller]


def test_twice_the_digits_cost_twice_the_memory() -> None:
    assert smaller(numpy.ones(4 * MIB)) == ["`x = x.astype('float32')` where 7 digits suffice (16 MiB less)"]
    assert smaller(torch.ones(4 * MIB, dtype=torch.float64)) == ["`x = x.float()` where 7 digits suffice (16 MiB less)"]
    assert smaller(numpy.ones(4 * MIB, dtype="float32")) == []
    assert smaller(numpy.ones(10)) == []


def test_floats_in_a_list_cost_four_times_the_memory() -> None:
    [said] = smaller([float(number) for number in range(MIB)])
    assert said == "`x = numpy.array(x)` holds these floats in a quarter (24 MiB less)"
    floats = [float(number) for number in range(MIB)]
    assert numpy.array(floats).nbytes == 8 * MIB  # of 32
    assert smaller([*range(MIB)]) == []


def cities() -> list[str]:
    return ["a city of some size", "another"] * MIB


def columns() -> dict[str, Any]:
    """Few different texts, many, and numbers with more digits than most need."""
    return {"city": cities(), "id": [str(n) for n in range(2 * MIB)], "loss": numpy.ones(2 * MIB)}


TABLES: dict[str, Callable[[], Any]] = {
    "pandas, objects": lambda: pandas.DataFrame(columns()).astype({"city": "object", "id": "object"}),
    "pandas": lambda: pandas.DataFrame(columns()),
    "pandas, texts": lambda: pandas.Series(cities()),
    "pandas, numbers": lambda: pandas.Series(numpy.ones(2 * MIB)),
    "polars": lambda: polars.DataFrame(columns()),
    "polars, texts": lambda: polars.Series(cities()),
    "polars, numbers": lambda: polars.Series(numpy.ones(2 * MIB)),
    "arrow": lambda: pyarrow.table(columns()),
}
SMALLER = {
    "pandas, objects": (
        "x = x.astype(dict.fromkeys(['city'], 'category'))",
        "x = x.astype(dict.fromkeys(x.select_dtypes('float64'), 'float32'))",
    ),
    "pandas": (
        "x = x.astype(dict.fromkeys(['city'], 'category'))",
        "x = x.astype(dict.fromkeys(x.select_dtypes('float64'), 'float32'))",
    ),
    "pandas, texts": ("x = x.astype('category')",),
    "pandas, numbers": ("x = x.astype('float32')",),
    "polars": (
        "x = x.cast(dict.fromkeys(['city'], polars.Categorical))",
        "x = x.cast({polars.Float64: polars.Float32})",
    ),
    "polars, texts": ("x = x.cast(polars.Categorical)",),
    "polars, numbers": ("x = x.cast(polars.Float32)",),
    "arrow": (
        "for c in ['city']: x = x.set_column(x.column_names.index(c), c, x[c].dictionary_encode())",
        "x = x.cast(pyarrow.schema([f.with_type(pyarrow.float32()) if f.type == 'double' else f for f in x.schema]))",
    ),
}


def size(table: object) -> int:
    [size] = [each.size_bytes for each in variables({"x": table}, budget_s=5.0) if each.name == "x"]
    return size


@pytest.mark.parametrize("name", TABLES)
def test_tables_are_told_statements_after_which_they_are_smaller(name: str) -> None:
    names: dict[str, Any] = {"x": TABLES[name](), "polars": polars, "pyarrow": pyarrow}
    said = smaller(names["x"])
    assert [text.split("`")[1] for text in said] == list(SMALLER[name])
    for statement in SMALLER[name]:
        before = size(names["x"])
        exec(statement, names)
        assert before - size(names["x"]) > 7 * MIB
    assert smaller(names["x"]) == []  # said once, and done


@pytest.mark.parametrize("make", [pandas.DataFrame, polars.DataFrame, pyarrow.table], ids=["pandas", "polars", "arrow"])
def test_columns_of_any_library_that_no_code_names_are_pointed_out(make: Callable[[Any], Any]) -> None:
    table = make({name: numpy.ones(MIB, dtype="float32") for name in ("loss", "extra", "junk")})
    [said] = smaller(table, "x['loss'].mean()")
    assert said == "no code so far uses 2 of its 3 columns ('extra', 'junk'): keep only the others"


def test_columns_that_no_code_names_are_pointed_out() -> None:
    frame = pandas.DataFrame({name: numpy.ones(MIB, dtype="float32") for name in ("loss", "extra", "junk")})
    assert smaller(frame, "x.loss.mean()") == [
        "no code so far uses 2 of its 3 columns ('extra', 'junk'): keep only the others"
    ]
    assert smaller(frame, "x.mean()") == []  # all of them at once
    assert smaller(frame, "x[['loss', 'extra', 'junk']]") == []
