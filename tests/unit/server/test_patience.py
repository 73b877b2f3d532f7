"""Connections on which no request comes are ended; those with a request are not."""

import asyncio
import contextlib

import pytest
import uvicorn
from starlette.types import Receive, Scope, Send

from holter.server import serving
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
