"""Expressions over metrics for the x axis: what they mean, and what is said about those that mean nothing."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from holter.errors import UsageError
from holter.server.query.expressions import parse_expression

COLUMNS = {
    name: np.array(values) for name, values in {"tokens": [2e6, 4e6], "train/x": [3.0, 5.0], "a b": [1.0, 2.0]}.items()
}


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("tokens / 1e6", [2, 4]),
        ("tokens/1e6", [2, 4]),
        ("train/x * 2 + 1", [7, 11]),
        ("1 + train/x * 2", [7, 11]),
        ("-(train/x - 1) ^ 2", [-4, -16]),
        ("train/x ** 2", [9, 25]),
        ('"a b" + .5', [1.5, 2.5]),
        ("sqrt(tokens / 2e6) * log10(100)", [2, 2 * 2**0.5]),
        ("train/x - -1", [4, 6]),
        ("2 - train/x - 1", [-2, -4]),
    ],
)
def test_an_expression_has_the_value_that_it_has_on_paper(text: str, values: list[float]) -> None:
    expression = parse_expression(text)
    assert set(expression.names) <= set(COLUMNS)
    assert expression.value(COLUMNS) == pytest.approx(values)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "ends too early"),
        ("tokens /", "ends too early"),
        ("tokens 2", r"'2' \(character 8\) can't stand here: an operation such as \* is missing"),
        ("tokens ! 2", r"'!' \(character 8\)"),
        ("(tokens", r"a \) is missing"),
        ("2 * 3", "no metric in it"),
        ("(" * 60 + "tokens" + ")" * 60, "nested more than 50 deep"),
        ("t" * 501, "at most 500 characters"),
    ],
)
def test_what_can_not_be_read_is_said(text: str, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        parse_expression(text)


@given(st.text(alphabet='ab/.-+*^()"1e2 _', max_size=30))
def test_any_text_is_a_value_or_a_problem(text: str) -> None:
    try:
        expression = parse_expression(text)
    except UsageError:
        return
    columns = dict.fromkeys(expression.names, np.array([1.0, 2.0]))
    assert np.broadcast_to(expression.value(columns), 2).dtype == np.float64
