"""The beginning of a value's `repr`, for the price of the beginning."""

import array
import dataclasses
import threading
import tracemalloc
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holter.client.shortened import shortened

MOST = 100
MANY = 50_000


class Item:
    """Counts how often one of them is printed."""

    printed = 0

    def __repr__(self) -> str:
        Item.printed += 1
        return "item"


class MyList(list[Any]):
    def __repr__(self) -> str:
        return "mine"


class MySet(set[Any]):
    pass


@dataclasses.dataclass
class Batch:
    name: str
    items: Any
    hidden: int = dataclasses.field(default=0, repr=False)


@dataclasses.dataclass
class Quiet:
    items: Any

    def __repr__(self) -> str:
        return "quiet"


ATOMS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.binary(max_size=5)
VALUES = st.recursive(
    ATOMS,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.tuples(inner)
        | st.tuples(inner, inner)
        | st.just(())
        | st.dictionaries(st.text(max_size=3), inner, max_size=3)
        | st.sets(st.integers(), max_size=3)
        | st.frozensets(st.integers(), max_size=3)
        | st.builds(Batch, st.text(max_size=3), inner)
    ),
    max_leaves=10,
)


@settings(deadline=None)
@given(VALUES)
def test_it_is_what_the_value_prints(value: object) -> None:
    assert shortened(value, 10_000) == repr(value)


@settings(deadline=None)
@given(VALUES, st.integers(min_value=0, max_value=30))
def test_it_is_the_beginning_of_that(value: object, most: int) -> None:
    whole = shortened(value, 10_000)
    short = shortened(value, most)
    assert len(short) <= most
    # Text is cut before it is quoted, which may choose other quotes.
    assert whole.startswith(short) or any(quote in whole for quote in "'\"")


def test_less_common_things_print_themselves() -> None:
    less_common = [MySet([1]), MySet(), MyList([1]), Quiet([1]), deque([1]), Counter(a=1), defaultdict(int, a=1)]
    for value in (*less_common, set(), range(3), Item, 1j, None):
        assert shortened(value, 1000) == repr(value)


ITEM = Item()
LARGE: dict[str, Callable[[], Any]] = {
    "list": lambda: [ITEM] * MANY,
    "tuple": lambda: (ITEM,) * MANY,
    "lists in lists": lambda: [[[[ITEM] * MANY] * MANY]],
    "dict in a list": lambda: [{"a": [ITEM] * MANY}],
    "set": lambda: {Item() for _ in range(MANY)},
    "frozenset": lambda: frozenset(Item() for _ in range(MANY)),
    "values": lambda: dict.fromkeys(range(MANY), ITEM),
    "keys": lambda: {Item(): 1 for _ in range(MANY)},
    "deque": lambda: deque([ITEM] * MANY),
    "OrderedDict": lambda: OrderedDict.fromkeys(range(MANY), ITEM),
    "defaultdict": lambda: defaultdict(list, dict.fromkeys(range(MANY), ITEM)),
    "dataclass": lambda: Batch("b", [ITEM] * MANY),
}


@pytest.mark.parametrize("kind", LARGE)
def test_no_more_is_looked_at_than_is_shown(kind: str) -> None:
    value = LARGE[kind]()
    Item.printed = 0
    assert len(shortened(value, MOST)) == MOST
    assert 0 < Item.printed <= MOST


LONG: dict[str, Callable[[], Any]] = {
    "str": lambda: "x" * 10**7,
    "bytes": lambda: b"x" * 10**7,
    "bytearray": lambda: bytearray(10**7),
    "array": lambda: array.array("d", bytes(8 * 10**6)),
    "in a list": lambda: ["x" * 10**7],
}


@pytest.mark.parametrize("kind", LONG)
def test_text_is_cut_before_it_is_quoted(kind: str) -> None:
    value = LONG[kind]()
    tracemalloc.start()
    try:
        assert len(shortened(value, MOST)) == MOST
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak_bytes < 100_000


def test_circles_deep_nesting_and_endless_integers_end() -> None:
    circle: list[Any] = []
    circle.append(circle)
    deep: list[Any] = []
    for _ in range(10_000):
        deep = [deep]
    assert shortened(circle, 1000) == "[" * 16 + "..." + "]" * 16
    assert shortened(deep, 1000) == "[" * 16 + "..." + "]" * 16
    assert shortened(10**100_000, 1000) == "<an integer of 332,193 bits>"


def test_a_set_that_another_thread_changes_is_no_matter() -> None:
    changing, is_over = set(range(1000)), threading.Event()

    def change() -> None:
        number = 1000
        while not is_over.is_set():
            changing.add(number := number + 1)
            changing.discard(number - 500)

    thread = threading.Thread(target=change)
    thread.start()
    try:
        for _ in range(300):
            assert shortened(changing, 2000).startswith("{")
    finally:
        is_over.set()
        thread.join()
