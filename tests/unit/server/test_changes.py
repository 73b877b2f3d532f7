"""Live changes: the newest of each kind, in order, with what is needed to go on after a break."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from holter.server.live import changes as module
from holter.server.live.changes import Changes, Wanted

ALL = Wanted()


def note(changes: Changes, kind: str, run: str, data: object = 1, project: str = "p") -> None:
    changes.note(kind, run, project=project, data=data)


def test_what_is_newer_comes_in_order_and_only_once_for_each_run_and_kind() -> None:
    changes = Changes(100)
    note(changes, "rows", "a", 1)
    note(changes, "run", "b", 2)
    note(changes, "rows", "a", 3)
    found = changes.since(100, ALL)
    assert found is not None
    assert [(each.seq, each.kind, each.run, each.data) for each in found] == [
        (102, "run", "b", b"2"),
        (103, "rows", "a", b"3"),
    ]
    assert changes.since(103, ALL) == []


def test_only_what_is_wanted_comes() -> None:
    changes = Changes(0)
    note(changes, "run", "a", project="one")
    note(changes, "run", "b", project="two")
    assert [each.run for each in changes.since(0, Wanted(project="two")) or []] == ["b"]
    assert [each.run for each in changes.since(0, Wanted(runs={"a"})) or []] == ["a"]


def test_a_number_from_before_or_from_the_future_is_a_gap() -> None:
    changes = Changes(100)
    assert changes.since(99, ALL) is None
    assert changes.since(101, ALL) is None


def test_memory_is_bounded_and_what_was_forgotten_is_a_gap(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_CHANGES", 10)
    changes = Changes(0)
    for number in range(100):
        note(changes, "run", f"r{number}")
    assert changes.since(89, ALL) is None
    assert len(changes.since(90, ALL) or []) == 10


async def read(stream: AsyncIterator[bytes], count: int) -> list[bytes]:
    return [await anext(stream) for _ in range(count)]


def test_a_reader_gets_what_comes_and_the_end() -> None:
    changes = Changes(0)

    async def follow() -> list[bytes]:
        stream = changes.follow(None, ALL, is_welcome=lambda: True)
        found = await read(stream, 1)
        note(changes, "rows", "a", {"n": 1})
        found += await read(stream, 1)
        changes.close()
        return found + [chunk async for chunk in stream]

    assert asyncio.run(follow()) == [
        b"id: 0\nevent: hello\ndata: {}\n\n",
        b'id: 1\nevent: rows\ndata: {"n":1,"seq":1}\n\n',
    ]
    assert changes.readers == 0


def test_a_reader_who_was_away_too_long_is_told_so() -> None:
    changes = Changes(1000)

    async def follow() -> list[bytes]:
        return await read(changes.follow(5, ALL, is_welcome=lambda: True), 1)

    assert asyncio.run(follow()) == [b"id: 1000\nevent: reset\ndata: {}\n\n"]


def test_a_reader_is_kept_alive_and_let_go_when_not_welcome(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "KEEP_ALIVE_S", 0.001)
    changes = Changes(0)
    welcome = [True]

    async def follow() -> list[bytes]:
        stream = changes.follow(0, ALL, is_welcome=lambda: welcome[0])
        found = await read(stream, 2)
        welcome[0] = False
        return found + [chunk async for chunk in stream]

    assert asyncio.run(follow()) == [b": keep-alive\n\n"] * 2


def test_numbers_of_the_newest_change() -> None:
    changes = Changes(7)
    assert changes.seq_of("rows", "a") == 7
    note(changes, "rows", "a")
    assert changes.seq_of("rows", "a") == changes.seq == 8
