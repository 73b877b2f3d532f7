"""JSON for people and scripts is what the standard library would write."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holter.catalog.change.json_text import to_json

SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text()
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text() | st.integers() | st.booleans(), inner, max_size=4)
    ),
    max_leaves=12,
)


@given(VALUES)
def test_it_writes_what_json_writes(value: object) -> None:
    assert to_json(value) == json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def test_what_is_no_number_has_its_name() -> None:
    assert to_json([math.nan, math.inf, -math.inf]).split() == ["[", "NaN,", "Infinity,", "-Infinity", "]"]


def test_what_json_has_no_word_for_is_refused() -> None:
    with pytest.raises(TypeError, match="bytes"):
        to_json({"a": b"x"})
