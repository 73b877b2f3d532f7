"""Users' values become plain ones, whatever they are."""

import enum
from collections import OrderedDict
from datetime import UTC, datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from holter.client.values import (
    MOST_DESCRIBED,
    MOST_ITEMS,
    MOST_KEY,
    MOST_TEXTS,
    MOST_VALUES,
    Room,
    plain,
    plain_row,
    plain_tree,
)

VALUES = st.recursive(
    st.none() | st.floats() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4),
    max_leaves=8,
)


class Complaints(list[str]):
    def __call__(self, cause: str, text: str) -> None:
        self.append(text)


class Device:
    """As torch and jax have them: one number behind `.item()`, and an error for more than one."""

    def __init__(self, *values: float) -> None:
        self.shape = (len(values),) if len(values) != 1 else ()
        self.values = values

    def item(self) -> float:
        if len(self.values) != 1:
            raise ValueError("more than one")
        return self.values[0]


class Eager:
    """As tensorflow has them: no `.item()`, but `.numpy()`."""

    shape = ()

    def numpy(self) -> np.float32:
        return np.float32(0.5)


class Color(enum.IntEnum):
    RED = 3


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (1, 1),
        (1.5, 1.5),
        (True, True),
        (None, None),
        ("text", "text"),
        (np.float64(2.5), 2.5),
        (np.float16(0.5), 0.5),
        (np.int8(-3), -3),
        (np.uint64(2**64 - 1), 2**64 - 1),
        (np.bool_(False), False),
        (np.array(4.0), 4.0),
        (np.array([[5]]), 5),
        (Device(1.25), 1.25),
        (Eager(), 0.5),
        (Decimal("0.5"), 0.5),
        (Fraction(1, 4), 0.25),
        (Color.RED, 3),
        ([1, "a", None], [1, "a", None]),
        ((1.0, 2.0), [1.0, 2.0]),
        ([np.float32(0.5), Device(2.0), np.int64(3), Decimal("0.5")], [0.5, 2.0, 3, 0.5]),
        ([[1, 2], (3, np.int8(4))], [[1, 2], [3, 4]]),
        (np.array([1.5, 2.5]), [1.5, 2.5]),
        (np.eye(2, dtype=int), [[1, 0], [0, 1]]),
        (np.array(["a", "b"]), ["a", "b"]),
        (np.array([]), []),
        (datetime(2026, 1, 2, tzinfo=UTC), "2026-01-02T00:00:00+00:00"),
    ],
)
def test_a_value_is_taken_as_the_plain_one_it_stands_for(value: object, expected: object) -> None:
    complaints = Complaints()
    taken = plain(value, "x", Room(complaints))
    assert (taken, type(taken)) == (expected, type(expected))
    assert complaints == []


@pytest.mark.parametrize(
    "value",
    [object(), {1, 2}, 1j, np.zeros(33), Device(1.0, 2.0), 10**30, lambda: 0, b"bytes", list(range(MOST_ITEMS + 1))],
)
def test_what_has_no_plain_form_becomes_a_bounded_description_with_a_complaint(value: object) -> None:
    complaints = Complaints()
    taken = plain(value, "x", Room(complaints))
    assert isinstance(taken, str)
    assert len(taken) <= 1000
    assert len(complaints) == 1


def test_nested_mappings_become_dotted_names() -> None:
    row = plain_row(OrderedDict(train={"loss": 1.0, "acc": {"top1": 2}}, lr=3), Complaints())
    assert row == {"train.loss": 1.0, "train.acc.top1": 2, "lr": 3}


def test_a_configuration_keeps_its_nesting() -> None:
    tree = plain_tree({"model": {"sizes": (1, {"w": np.int64(2)})}, 3: "x"}, Complaints())
    assert tree == {"model": {"sizes": [1, {"w": 2}]}, "3": "x"}


def test_a_circle_ends() -> None:
    circle: dict[str, Any] = {}
    circle["again"] = circle
    complaints = Complaints()
    assert len(plain_row(circle, complaints)) == 1
    assert len(complaints) == 1
    assert plain_tree(circle, complaints)


def test_of_a_row_of_very_many_values_the_first_are_kept_and_the_rest_is_said() -> None:
    complaints = Complaints()
    row = plain_row({f"k{number}": number for number in range(MOST_VALUES + 7)}, complaints)
    assert list(row.values()) == list(range(MOST_VALUES))
    (complaint,) = complaints
    assert complaint == (
        "a row has more than 100,000 values: the first 100,000 are kept, 7 or more are not; "
        "log them in other calls with the same step"
    )


def test_a_mapping_that_miscounts_itself_is_no_reason_to_complain() -> None:
    class Growing(dict[str, Any]):
        def __len__(self) -> int:
            return super().__len__() + 1

    complaints = Complaints()
    assert plain_row(Growing(a=1), complaints) == {"a": 1}
    assert complaints == []


def test_values_that_share_their_insides_are_not_gone_through_for_ever() -> None:
    many: dict[str, Any] = {}
    for _ in range(12):
        many = {f"k{number}": many for number in range(100)}
    complaints = Complaints()
    plain_row(many, complaints)
    assert any(text.startswith("a row has more than 100,000 values") for text in complaints)


def test_a_long_list_is_looked_at_only_as_far_as_it_is_kept() -> None:
    printed = []

    class Item:
        def __repr__(self) -> str:
            printed.append(1)
            return "item"

    complaints = Complaints()
    row = plain_row({"a": [Item()] * 100_000, "b": [[Item()] * 100_000]}, complaints)
    assert 990 <= len(row["a"]) == len(row["b"][0]) <= 1000
    assert len(printed) < 1000
    assert complaints[0] == (
        "'a' has 100,000 items, and a row takes 10,000 in a list: the first 1,000 characters of its repr are kept"
    )


def test_very_many_odd_values_are_kept_by_their_type_alone() -> None:
    complaints = Complaints()
    row = plain_row({"a": [{number} for number in range(MOST_DESCRIBED + 2)]}, complaints)
    assert row["a"][MOST_DESCRIBED - 2 :] == ["{998}", "{999}", "<set>", "<set>"]
    assert len(set(complaints)) == 2


def test_texts_of_one_row_are_bounded_together() -> None:
    complaints = Complaints()
    row = plain_row({"a": ["x" * (1 << 20)] * MOST_ITEMS}, complaints)
    assert sum(map(len, row["a"])) == MOST_TEXTS
    assert complaints


def test_a_name_that_is_cut_is_said() -> None:
    complaints = Complaints()
    row = plain_row({"k" * 1000: 1, "short": 2, tuple(range(100_000)): 3}, complaints)
    assert [len(name) for name in row] == [MOST_KEY, 5, MOST_KEY]
    assert len(complaints) == 2


def test_text_that_has_no_utf8_form_is_mended() -> None:
    assert plain("a\udc80b", "x", Room(Complaints())) == "a?b"


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(st.dictionaries(st.text(max_size=8) | st.integers(), VALUES, max_size=5))
def test_anything_can_be_encoded_afterwards(data: dict[Any, Any]) -> None:
    import msgspec

    msgspec.msgpack.encode(plain_row(data, Complaints()))
