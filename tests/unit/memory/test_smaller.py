"""What would hold the same in less, as far as that can be known."""

import types
from typing import Any

import numpy
import pytest

from holter.memory.variables import variables

MIB = 1 << 20
ROWS = MIB // 2  # as few as are worth a word


def smaller(value: object, source: str = "") -> list[str]:
    namespace = {"x": value, "_ih": [source], "_oh": {}}
    shell = types.SimpleNamespace(user_ns_hidden={})  # as much of IPython's as is asked for
    found = variables(namespace, budget_s=5.0, shell=shell)
    return [text for each in found if each.name == "x" for text in each.smaller]


def test_twice_the_digits_cost_twice_the_memory() -> None:
    import torch

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
    return ["a city of some size", "another"] * (ROWS // 2)


def columns() -> dict[str, Any]:
    """Few different texts, many, and numbers with more digits than most need."""
    return {"city": cities(), "id": [str(n) for n in range(ROWS)], "loss": numpy.ones(ROWS)}


def make_table(name: str) -> object:
    import pandas
    import polars
    import pyarrow

    match name:
        case "pandas, objects":
            return pandas.DataFrame(columns()).astype({"city": "object", "id": "object"})
        case "pandas":
            return pandas.DataFrame(columns())
        case "pandas, texts":
            return pandas.Series(cities())
        case "pandas, numbers":
            return pandas.Series(numpy.ones(ROWS))
        case "polars":
            return polars.DataFrame(columns())
        case "polars, texts":
            return polars.Series(cities())
        case "polars, numbers":
            return polars.Series(numpy.ones(ROWS))
        case _:
            return pyarrow.table(columns())


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


@pytest.mark.parametrize("name", SMALLER)
def test_tables_are_told_statements_after_which_they_are_smaller(name: str) -> None:
    import polars
    import pyarrow

    names: dict[str, Any] = {"x": make_table(name), "polars": polars, "pyarrow": pyarrow}
    said = smaller(names["x"])
    assert [text.split("`")[1] for text in said] == list(SMALLER[name])
    for statement in SMALLER[name]:
        before = size(names["x"])
        exec(statement, names)
        assert before - size(names["x"]) > MIB
    assert smaller(names["x"]) == []  # said once, and done


@pytest.mark.parametrize("library", ["pandas", "polars", "arrow"])
def test_columns_of_any_library_that_no_code_names_are_pointed_out(library: str) -> None:
    import pandas
    import polars
    import pyarrow

    make = {"pandas": pandas.DataFrame, "polars": polars.DataFrame, "arrow": pyarrow.table}[library]
    table = make({name: numpy.ones(MIB, dtype="float32") for name in ("loss", "extra", "junk")})
    [said] = smaller(table, "x['loss'].mean()")
    assert said == "no code so far uses 2 of its 3 columns ('extra', 'junk'): keep only the others"


def test_columns_that_no_code_names_are_pointed_out() -> None:
    import pandas

    frame = pandas.DataFrame({name: numpy.ones(MIB, dtype="float32") for name in ("loss", "extra", "junk")})
    assert smaller(frame, "x.loss.mean()") == [
        "no code so far uses 2 of its 3 columns ('extra', 'junk'): keep only the others"
    ]
    assert smaller(frame, "x.mean()") == []  # all of them at once
    assert smaller(frame, "x[['loss', 'extra', 'junk']]") == []
