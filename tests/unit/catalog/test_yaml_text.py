"""The YAML that people read, and that a parser reads the same."""

import math
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from holter.catalog.change.yaml_text import to_yaml

# Surrogates can't be in a configuration: they are replaced when it is recorded.
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
WORDS = st.sampled_from(
    ["no", "Yes", "null", "~", "1e5", "0x1f", "012", "1:30", "2001-12-14", ".5", "- a", "a: b", "#", ""]
)
SCALARS = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), TEXTS, WORDS)
TREES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(TEXTS | WORDS, inner, max_size=5),
    max_leaves=20,
)


@given(st.dictionaries(TEXTS | WORDS, TREES, max_size=6))
def test_a_parser_reads_what_was_written(values: dict[str, Any]) -> None:
    assert yaml.safe_load(to_yaml(values)) == values


def test_plain_values_need_no_quotes_and_nesting_is_indented() -> None:
    config = {
        "lr": 3e-4,
        "epochs": 10,
        "schedule": "cosine with warmup",
        "data": {
            "path": "/data/imagenet",
            "shards": [1, 2, 3],
            "splits": [{"name": "train", "size": 0.9}, {"name": "val"}],
        },
        "resume": None,
        "amp": True,
        "none": {},
    }
    assert to_yaml(config) == (
        "lr: 0.0003\n"
        "epochs: 10\n"
        "schedule: cosine with warmup\n"
        "data:\n"
        "  path: /data/imagenet\n"
        "  shards: [1, 2, 3]\n"
        "  splits:\n"
        "    - name: train\n"
        "      size: 0.9\n"
        "    - name: val\n"
        "resume: null\n"
        "amp: true\n"
        '"none": {}\n'
    )


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1e-5, "1.0e-05"),
        (1e20, "1.0e+20"),
        (1.5e300, "1.5e+300"),
        (-0.0, "-0.0"),
        (math.inf, ".inf"),
        (-math.inf, "-.inf"),
        (math.nan, ".nan"),
        ("no", '"no"'),
        ("1e5", '"1e5"'),
        ("a # b", '"a # b"'),
        ("line\nbreak", '"line\\nbreak"'),
        ('say "hi"\\', '"say \\"hi\\"\\\\"'),
        ("größe", '"größe"'),
        ("\x85\u2028\U000e0001", '"\\x85\\u2028\\U000e0001"'),
    ],
)
def test_what_yaml_would_misread_is_written_so_that_it_cannot(value: object, text: str) -> None:
    assert to_yaml({"key": value}) == f"key: {text}\n"


def test_nan_is_read_as_nan() -> None:
    assert math.isnan(yaml.safe_load(to_yaml({"x": math.nan}))["x"])


def test_a_key_too_long_for_one_line_is_announced() -> None:
    values = {"\x01" * 600: {"a": [{"b": 1}]}, "k" * 2000: 2}
    assert yaml.safe_load(to_yaml(values)) == values


def test_nothing_is_an_empty_mapping() -> None:
    assert to_yaml({}) == "{}\n"
