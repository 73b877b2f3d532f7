"""How the values of `holter run --config` are read."""

import math

import pytest

from holter.cli.commands.run import parse_value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("3e-4", 3e-4),
        ("64", 64),
        (".5", 0.5),
        ("true", True),
        ("False", False),
        ("None", None),
        ("[1, 2]", [1, 2]),
        ('{"a": 1}', {"a": 1}),
        ('"64"', "64"),
        ("adam", "adam"),
        ("a=b", "a=b"),
        ("", ""),
        ("-inf", -math.inf),
        ("1_000", 1000.0),
    ],
)
def test_a_value_is_what_it_looks_like(text: str, value: object) -> None:
    assert parse_value(text) == value
