"""Answers that go on: a reader who takes nothing is let go."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from starlette.types import Message

from holter.server.transport import answering
from holter.server.transport.answering import LiveResponse


async def endless() -> AsyncIterator[bytes]:
    while True:
        yield b"x"


async def short() -> AsyncIterator[bytes]:
    yield b"x"


def test_a_reader_who_takes_nothing_is_let_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answering, "SLOW_READER_S", 0.01)
    sent: list[Message] = []

    async def send(message: Message) -> None:
        if len(sent) == 3:
            await asyncio.sleep(60)
        sent.append(message)

    asyncio.run(LiveResponse(endless()).stream_response(send))
    assert [message["type"] for message in sent] == ["http.response.start", *["http.response.body"] * 2]


def test_a_stream_that_ends_says_so() -> None:
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    asyncio.run(LiveResponse(short()).stream_response(send))
    assert [message.get("more_body") for message in sent] == [None, True, False]
