"""What values hold, against what Python's own allocator gave out for them."""

import array
import asyncio
import collections
import gc
import io
import itertools
import mmap
import random
import tracemalloc
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import numpy
import pytest

from holter.memory import streams
from holter.memory.held import Held
from holter.memory.variables import variables

MIB = 1 << 20


def look(value: object, *, budget_s: float = 5.0) -> Held:
    [found] = [each for each in variables({"value": value}, budget_s=budget_s) if each.name == "value"]
    return found


def allocated(make: Callable[[], object]) -> tuple[object, int]:
    """A value, and what its making left allocated."""
    make()  # what is made once for all, such as classes
    gc.collect()
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        value = make()
        gc.collect()
        return value, tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()


class Node:
    def __init__(self, before: "Node | None", data: bytes) -> None:
        self.before = before
        self.data = data


class Slim:
    __slots__ = ("before", "data")

    def __init__(self, before: "Slim | None", data: bytes) -> None:
        self.before = before
        self.data = data


class Tree:
    def __init__(self, depth: int) -> None:
        self.left = Tree(depth - 1) if depth else None
        self.right = Tree(depth - 1) if depth else None
        self.data = bytes(500)


def chain(kind: type[Node | Slim], length: int) -> object:
    head: Any = None
    for _ in range(length):
        head = kind(head, bytes(1000))
    return head


def generator() -> Iterator[int]:
    data = [bytes(10_000) for _ in range(100)]
    yield 1
    yield len(data)


def coroutine() -> object:
    async def work() -> int:
        data = bytearray(4 * MIB)
        await asyncio.sleep(0)
        return len(data)

    made = work()
    made.send(None)
    return made


def async_generator() -> object:
    async def work() -> AsyncIterator[int]:
        data = bytearray(4 * MIB)
        yield 1
        yield len(data)

    made = work()
    with pytest.raises(StopIteration):
        made.__anext__().send(None)  # type: ignore[attr-defined]  # it is more than awaitable
    return made


def started(make: Callable[[], Iterator[int]]) -> Iterator[int]:
    made = make()
    next(made)
    return made


def written(stream: io.BytesIO | io.StringIO, piece: bytes | str, times: int) -> object:
    for _ in range(times):
        stream.write(piece)  # type: ignore[arg-type]  # each its own
    return stream


def caught() -> ValueError:
    data = bytearray(4 * MIB)
    try:
        raise ValueError(len(data))
    except ValueError as error:
        return error


LABELS = [f"label {number}" for number in range(500)]
NUMBERS = random.Random(0)

MAKERS: dict[str, Callable[[], object]] = {
    "tokens": lambda: [[NUMBERS.randrange(256) for _ in range(512)] for _ in range(300)],
    "tokens in few lists": lambda: [[NUMBERS.randrange(256) for _ in range(150)] for _ in range(150)],
    "labels": lambda: [[NUMBERS.choice(LABELS) for _ in range(100)] for _ in range(500)],
    "numbers": lambda: [[NUMBERS.random() for _ in range(300)] for _ in range(300)],
    "lists of lists of lists": lambda: [[[NUMBERS.random() for _ in range(10)] for _ in range(20)] for _ in range(100)],
    "five levels": lambda: [[[[[NUMBERS.random()] * 9] for _ in range(9)] for _ in range(9)] for _ in range(9)],
    "records": lambda: [{"a": float(n), "b": f"{n} {n}", "c": [n, n]} for n in range(1000, 20_000)],
    "sets": lambda: {n: {n + 7919 * m for m in range(30)} for n in range(1000, 3000)},
    "linked list": lambda: chain(Node, 3000),
    "linked list with slots": lambda: chain(Slim, 3000),
    "tree": lambda: Tree(9),
    "generator": lambda: started(generator),
    "coroutine": coroutine,
    "async generator": async_generator,
    "BytesIO": lambda: written(io.BytesIO(), bytes(1000), 4000),
    "StringIO": lambda: written(io.StringIO(), "some text\n", 100_000),
    "StringIO of a text": lambda: io.StringIO("x" * MIB),
    "array": lambda: array.array("d", [0.5]) * MIB,
    "exception": caught,
    "chained iterators": lambda: itertools.chain([bytearray(4 * MIB)]),
    "bound method": lambda: [bytearray(4 * MIB)].append,
}


@pytest.mark.parametrize("name", MAKERS)
def test_what_a_value_holds_is_what_was_allocated_for_it(name: str) -> None:
    value, size_bytes = allocated(MAKERS[name])
    assert look(value).host_bytes == pytest.approx(size_bytes, rel=0.15)
    if hasattr(value, "close"):
        value.close()


def test_a_generator_that_has_not_begun_is_no_petabyte() -> None:
    assert variables({"value": (number for number in range(10))}).held == ()


def test_a_pool_of_objects_that_are_held_many_times_counts_once() -> None:
    pool = [tuple(NUMBERS.random() for _ in range(10)) for _ in range(1000)]
    value, _ = allocated(lambda: [NUMBERS.choice(pool) for _ in range(50_000)])
    assert look(value).host_bytes == pytest.approx(50_000 * 8 + 1000 * (120 + 240), rel=0.4)


def test_bytes_that_a_stream_shares_count_once() -> None:
    data = bytes(4 * MIB)
    found = variables({"data": data, "stream": io.BytesIO(data)}, budget_s=5.0)
    assert sum(each.host_bytes for each in found) == pytest.approx(4 * MIB, rel=0.01)


def test_an_array_over_an_array_counts_once() -> None:
    data = array.array("d", [0.5]) * MIB
    found = variables({"data": data, "view": numpy.frombuffer(data)}, budget_s=5.0)
    assert sum(each.host_bytes for each in found) == pytest.approx(8 * MIB, rel=0.01)


def test_mapped_memory_is_the_process_own_or_a_files(tmp_path: Path) -> None:
    (tmp_path / "data").write_bytes(bytes(4 * MIB))
    with mmap.mmap(-1, 8 * MIB) as own, open(tmp_path / "data", "r+b") as file, mmap.mmap(file.fileno(), 0) as mapped:
        assert (look(own).host_bytes // MIB, look(own).file_bytes) == (8, 0)
        assert (look(mapped).host_bytes < 1000, look(mapped).file_bytes) == (True, 4 * MIB)
        array_over_own = numpy.frombuffer(own, dtype="uint8")
        assert look(array_over_own).host_bytes // MIB == 8
        del array_over_own
    assert variables({"closed": mapped}).held == ()


def test_a_stream_of_text_is_neither_moved_nor_copied_by_the_look() -> None:
    stream = io.StringIO("x" * MIB)
    stream.seek(5)
    tracemalloc.start()
    look(stream)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (stream.tell(), peak < MIB) == (5, True)


def test_where_a_text_cannot_be_seen_it_is_at_least_what_was_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "_is_laid_out_as_known", lambda: False)
    found = look(written(io.StringIO(), "some text\n", 100_000))
    assert (found.host_bytes // 1_000_000, found.is_least) == (1, True)


@pytest.fixture
def steady_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every look takes as long as the others, however busy the machine is."""
    looks = itertools.count()
    monkeypatch.setattr("time.thread_time", lambda: next(looks) * 2e-6)


@pytest.mark.usefixtures("steady_looks")
def test_what_there_was_no_time_for_is_said_and_extrapolated_where_it_can_be() -> None:
    nested = [[[NUMBERS.random() for _ in range(100)] for _ in range(100)] for _ in range(100)]
    found = look(nested, budget_s=0.01)
    assert found.host_bytes == pytest.approx(100 * 100 * (100 * 32 + 100), rel=0.3)
    endless = chain(Node, 100_000)
    found = look(endless, budget_s=0.01)
    assert found.is_least
    assert "≥" in repr(variables({"value": endless}, budget_s=0.01))
    while endless is not None:  # its own end would be too deep for Python
        endless = endless.before  # type: ignore[attr-defined]  # a Node


@pytest.mark.usefixtures("steady_looks")
def test_a_long_chain_does_not_hide_what_comes_after_it() -> None:
    endless: Any = chain(Node, 100_000)
    found = variables({"endless": endless, "later": [numpy.ones(MIB)]}, budget_s=0.02)
    assert found.held[0].name == "later"
    while endless is not None:
        endless = endless.before


def test_a_ring_of_many_needs_the_garbage_collector() -> None:
    first: Any = Node(None, bytes(100_000))
    last = first
    for _ in range(6):
        last = Node(last, bytes(1000))
    first.before = last
    assert "gc.collect()" in look(first).frees


def test_a_deque_of_lists_and_an_ordered_dict_are_found_whole() -> None:
    value, size_bytes = allocated(lambda: collections.deque([bytes(100)] for _ in range(5000)))
    assert look(value).host_bytes == pytest.approx(size_bytes, rel=0.15)
    value, size_bytes = allocated(lambda: collections.OrderedDict((n, bytes(1000)) for n in range(1000, 3000)))
    assert look(value).host_bytes == pytest.approx(size_bytes, rel=0.15)
