"""What a sampler chooses becomes a value, and every value that a trial had can be given again."""

import math
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from holter.errors import UsageError
from holter.sweeps.configuration import read_configuration
from holter.sweeps.parameters import Parameter, nested, params_of, point_of

QUANTA = st.sampled_from([1e-3, 0.1, 0.25, 0.3, 1, 2, 2.0, 3.7, 16, 1000])
SHARES = st.floats(0, 1)
CHOICE = st.one_of(st.none(), st.booleans(), st.integers(-2, 2), st.text("ab", max_size=2))
CHOICES = st.lists(CHOICE, min_size=2, max_size=5, unique_by=repr)


def parameter(**about: Any) -> Parameter:
    return read_configuration({"method": "random", "parameters": {"x": about}}).parameters[0]


def coordinate(each: Parameter, share: float) -> float:
    low, high = each.bounds
    if each.is_log:
        return min(max(math.exp(math.log(low) + share * (math.log(high) - math.log(low))), low), high)
    at = low + share * (high - low)
    return round(at) if each.is_whole else min(max(at, low), high)


def assert_comes_back(each: Parameter, share: float) -> None:
    value = each.value_of(coordinate(each, share))
    again = each.value_of(each.coordinate_of(value))
    low, high = each.bounds
    assert low <= each.coordinate_of(value) <= high
    if each.quantum is None:
        assert again == pytest.approx(value, rel=1e-6, abs=1e-9)
    else:
        # Of the outermost multiple the coordinate is the bound itself, which is nearest to it or to its neighbour.
        assert abs(again - value) <= each.quantum * (1 + 1e-9)


@given(SHARES, st.floats(-5, 5), st.floats(0.01, 8), QUANTA)
@example(0.0, 1.0, 1.0, 2.0)
@example(1.0, 1.0, 1.0, 2.0)
@example(0.0, 1.0, 5.0, 2)
@example(1.0, 1.0, 5.0, 2)
def test_a_quantised_logarithm_can_be_given_again_also_beyond_its_bounds(
    share: float, low: float, width: float, quantum: float
) -> None:
    assert_comes_back(parameter(distribution="q_log_uniform", min=low, max=low + width, q=quantum), share)
    ends = {"min": math.exp(low), "max": math.exp(low + width)}
    assert_comes_back(parameter(distribution="q_log_uniform_values", **ends, q=quantum), share)


@given(SHARES, st.floats(-1e9, 1e9), st.floats(0, 1e9), QUANTA)
def test_a_quantised_number_can_be_given_again(share: float, low: float, width: float, quantum: float) -> None:
    assert_comes_back(parameter(distribution="q_uniform", min=low, max=low + width, q=quantum), share)


@given(SHARES, st.floats(-6, 6), st.floats(0.001, 8))
def test_a_number_between_bounds_can_be_given_again(share: float, low: float, width: float) -> None:
    assert_comes_back(parameter(distribution="uniform", min=low, max=low + width), share)
    assert_comes_back(parameter(distribution="log_uniform", min=low, max=low + width), share)
    assert_comes_back(parameter(distribution="inv_log_uniform", min=low, max=low + width), share)
    for kind in ("log_uniform_values", "inv_log_uniform_values"):
        assert_comes_back(parameter(distribution=kind, min=math.exp(low), max=math.exp(low + width)), share)


@given(SHARES, st.floats(-6, 6), st.floats(0.1, 4), QUANTA)
def test_a_normal_number_can_be_given_again(share: float, mu: float, sigma: float, quantum: float) -> None:
    for kind in ("normal", "log_normal"):
        assert_comes_back(parameter(distribution=kind, mu=mu, sigma=sigma), share)
        each = parameter(distribution=f"q_{kind}", mu=mu, sigma=sigma, q=quantum)
        each.coordinate_of(each.value_of(coordinate(each, share)))


@given(SHARES, st.integers(-1000, 1000), st.integers(0, 1000))
def test_a_whole_number_comes_back_as_it_was(share: float, low: int, width: int) -> None:
    each = parameter(min=low, max=low + width)
    value = each.value_of(coordinate(each, share))
    assert isinstance(value, int)
    assert low <= value <= low + width
    assert each.coordinate_of(value) == value


@given(st.data(), CHOICES)
def test_a_choice_comes_back_with_its_type(data: st.DataObject, values: list[Any]) -> None:
    each = parameter(values=values)
    place = data.draw(st.integers(0, len(values) - 1))
    assert each.value_of(each.coordinate_of(values[place])) is values[place]


def test_weights_are_shares_of_the_line() -> None:
    each = parameter(values=["a", "b", "c"], probabilities=[0.5, 0.25, 0.25])
    assert [each.value_of(at) for at in (0.0, 0.49, 0.5, 0.74, 0.75, 1.0)] == ["a", "a", "b", "b", "c", "c"]
    assert [each.value_of(each.coordinate_of(value)) for value in "abc"] == ["a", "b", "c"]


def test_quantised_values_are_tidy() -> None:
    each = parameter(distribution="q_uniform", min=0, max=1, q=0.1)
    assert each.value_of(0.31) == 0.3
    assert parameter(distribution="q_uniform", min=0, max=10, q=2).value_of(4.9) == 4


def test_what_is_not_searched_is_refused() -> None:
    each = parameter(min=0.0, max=1.0)
    with pytest.raises(UsageError, match=r"x = 1\.5 is outside of what is searched: 0 to 1"):
        each.coordinate_of(1.5)
    with pytest.raises(UsageError, match="x must be one of 'a', 'b'; got 'c'"):
        parameter(values=["a", "b"]).coordinate_of("c")
    with pytest.raises(UsageError, match="must be a number"):
        each.coordinate_of(True)
    with pytest.raises(UsageError, match=r"must be a multiple of 0\.5"):
        parameter(distribution="q_uniform", min=0, max=1, q=0.5).coordinate_of(0.3)


def test_nested_names_have_dots_and_a_config_has_levels() -> None:
    inner = {"parameters": {"lr": {"value": 0.1}, "name": {"values": ["sgd", "adam"]}}}
    found = read_configuration({"method": "grid", "parameters": {"optimizer": inner, "n": {"value": 3}}})
    params = params_of(found.parameters, {"optimizer.name": 1})
    assert params == {"optimizer.lr": 0.1, "optimizer.name": "adam", "n": 3}
    assert nested(params, found.parameters) == {"optimizer": {"lr": 0.1, "name": "adam"}, "n": 3}
    assert point_of(found.parameters, {"optimizer.name": "adam"}) == {"optimizer.name": 1}
    with pytest.raises(UsageError, match="no parameter 'm'"):
        point_of(found.parameters, {"m": 1})
    with pytest.raises(UsageError, match=r"'optimizer.name' is missing"):
        point_of(found.parameters, {})
