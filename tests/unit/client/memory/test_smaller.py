"""What would hold the same in less, as far as that can be known."""

import types

import numpy
import pandas
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


@pytest.mark.parametrize("dtype", ["object", "str"])
def test_few_different_texts_are_a_category(dtype: str) -> None:
    names = pandas.Series(["a city", "another"] * MIB, dtype=dtype)
    frame = pandas.DataFrame({"city": names, "id": pandas.Series([str(n) for n in range(2 * MIB)], dtype=dtype)})
    [said] = smaller(frame)
    assert said == "`x = x.astype(dict.fromkeys(['city'], 'category'))`: few different values"
    smaller_frame = frame.astype(dict.fromkeys(["city"], "category"))
    assert smaller_frame.memory_usage(deep=True)["city"] < frame.memory_usage(deep=True)["city"] / 4


def test_columns_that_no_code_names_are_pointed_out() -> None:
    frame = pandas.DataFrame({name: numpy.ones(MIB, dtype="float32") for name in ("loss", "extra", "junk")})
    assert smaller(frame, "x.loss.mean()") == [
        "no code so far names 2 of its 3 columns ('extra', 'junk'): keep only the others"
    ]
    assert smaller(frame, "x.mean()") == []  # all of them at once
    assert smaller(frame, "x[['loss', 'extra', 'junk']]") == []
