"""The real application of a server, asked without a socket between."""

import asyncio
from types import TracebackType
from typing import Any, Self

import httpx

from holter.server.app import make_app
from holter.server.domain.services import Services
from holter.server.transport.routing import PREFIX


class Asking:
    """Requests to an open services, one after the other."""

    def __init__(self, services: Services) -> None:
        transport = httpx.ASGITransport(make_app(services))
        self._http = httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1")
        self._loop = asyncio.Runner()

    def ask(self, method: str, path: str, *, key: str = "", **sent: Any) -> httpx.Response:
        """One request as somebody with that key would make it, and a browser that keeps no cookies."""
        headers = {**({"authorization": f"Bearer {key}"} if key else {}), **sent.pop("headers", {})}
        self._http.cookies.clear()
        return self._loop.run(self._http.request(method, PREFIX + path, headers=headers, **sent))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._loop.run(self._http.aclose())
        self._loop.close()
