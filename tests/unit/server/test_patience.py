"""Connections on which no request comes, or whose answer nobody reads, are ended; others are not."""

import asyncio
import contextlib
import functools
import socket

import pytest
import uvicorn
from starlette.types import Receive, Scope, Send

from holter.server import serving
from holter.server.process.crowd import Crowd
from holter.server.serving import PatientProtocol, listen


async def app(scope: Scope, receive: Receive, send: Send) -> None:
    await asyncio.sleep(0.5)
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
    await send({"type": "http.response.body", "body": b"ok"})


async def talk(port: int, *parts: bytes) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    for part in parts:
        writer.write(part)
    found = await asyncio.wait_for(reader.read(), 10)
    writer.close()
    with contextlib.suppress(ConnectionError):
        await writer.wait_closed()
    return found


def test_only_who_asks_may_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "QUIET_S", 0.1)
    door = listen("127.0.0.1", 0)
    config = uvicorn.Config(app, http=PatientProtocol, ws="none", log_config=None, lifespan="off")
    server = uvicorn.Server(config)

    async def ask() -> tuple[bytes, bytes, bytes]:
        port = door.getsockname()[1]
        answers = await asyncio.gather(
            talk(port),
            talk(port, b"GET / HTTP/1.1\r\nHost: x\r\nX-Slow: "),
            talk(port, b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"),
        )
        server.should_exit = True
        return answers

    async def both() -> tuple[bytes, bytes, bytes]:
        serve = asyncio.create_task(server.serve(sockets=[door]))
        answers = await ask()
        await serve
        return answers

    silent, slow, asked = asyncio.run(both())
    assert (silent, slow) == (b"", b"")
    assert asked.endswith(b"ok")


async def large(scope: Scope, receive: Receive, send: Send) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"x" * (64 << 20)})


def test_who_does_not_read_the_answer_is_let_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "QUIET_S", 0.1)
    monkeypatch.setattr(serving, "UNREAD_S", 0.3)
    door = listen("127.0.0.1", 0)
    crowd = Crowd(10)
    protocol = functools.partial(PatientProtocol, crowd=crowd)
    config = uvicorn.Config(large, http=protocol, ws="none", log_config=None, lifespan="off")  # type: ignore[arg-type]  # it makes one
    server = uvicorn.Server(config)

    async def ask() -> None:
        with socket.create_connection(door.getsockname()) as unread:
            unread.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            async with asyncio.timeout(60):
                while not crowd.strangers:
                    await asyncio.sleep(0.01)
                while crowd.strangers:
                    await asyncio.sleep(0.01)
        server.should_exit = True

    async def both() -> None:
        await asyncio.gather(server.serve(sockets=[door]), ask())

    asyncio.run(both())
