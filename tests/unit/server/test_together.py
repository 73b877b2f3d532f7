"""Many requests are answered at once: each gets its own answer, and nobody waits for another's trouble."""

import asyncio
import threading
from collections.abc import Sequence

import pytest

from holter.server.transport.together import Together


def test_those_who_come_while_others_are_answered_are_answered_together() -> None:
    groups: list[int] = []
    may_go = threading.Event()

    def answer_all(questions: Sequence[int]) -> list[object]:
        groups.append(len(questions))
        assert may_go.wait(60)
        return [question * 2 for question in questions]

    async def ask() -> list[object]:
        together = Together(answer_all)
        first = asyncio.create_task(together.ask(0))
        while not groups:
            await asyncio.sleep(0)
        others = [asyncio.create_task(together.ask(number)) for number in range(1, 20)]
        await asyncio.sleep(0)
        may_go.set()
        answers = await asyncio.gather(first, *others)
        together.close()
        return answers

    assert asyncio.run(ask()) == [number * 2 for number in range(20)]
    assert groups == [1, 19]


def test_an_error_is_for_the_one_who_asked() -> None:
    def answer_all(questions: Sequence[int]) -> list[object]:
        if 13 in questions:
            raise RuntimeError("all of them")
        return [ValueError("odd") if question % 2 else question for question in questions]

    async def ask() -> None:
        together = Together(answer_all)
        assert await together.ask(2) == 2
        with pytest.raises(ValueError, match="odd"):
            await together.ask(3)
        with pytest.raises(RuntimeError, match="all of them"):
            await together.ask(13)
        assert await together.ask(4) == 4
        together.close()
        together.close()

    asyncio.run(ask())
