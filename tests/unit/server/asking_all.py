"""Asks whatever the page may ask, without a network in between."""

import msgspec

from holter.errors import HolterError
from holter.server.domain.services import Services
from holter.server.route_table import load_routes
from holter.server.security.access import Visitor
from holter.server.transport.answering import respond
from holter.server.transport.problems import problem_of
from holter.server.transport.routing import Route, Visit, read_asked

_NO_ANSWER = ("/events", "/runs/{run}/files/{path:path}")  # a stream, and what needs a name


class Page:
    """Somebody who looks at everything. What can't be answered raises."""

    def __init__(self, services: Services) -> None:
        self._visit = Visit(services=services, visitor=Visitor(id="a", name="a", scope="admin"))
        routes = [route for route in load_routes() if route.path not in _NO_ANSWER]
        self.of_a_run = [route for route in routes if route.method == "GET" and "{run}" in route.path]
        self.of_all = [route for route in routes if route.method == "GET" and "{" not in route.path]
        self._series = next(route for route in routes if route.path == "/series")

    def ask(self, route: Route, *, run: str = "", query: dict[str, str] | None = None) -> bytes:
        """The answer; empty where it is refused as the caller's own fault."""
        path = {"run": run} if run else {}
        if run and route.path.endswith("/points"):
            query = {"keys": "loss,v,packed"}
        return self._answer(route, path=path, query=query or {})

    def draw(self, run: str, x: str, *, group: str = "") -> bytes:
        """A chart of a run."""
        asked = {"runs": [run], "keys": ["loss", "v", "packed"], "x": x, "buckets": 20, "group": group}
        return self._answer(self._series, data=msgspec.json.encode(asked))

    def _answer(
        self,
        route: Route,
        *,
        path: dict[str, str] | None = None,
        query: dict[str, str] | None = None,
        data: bytes = b"",
    ) -> bytes:
        try:
            asked = read_asked(route, path=path or {}, query=query or {}, data=data)
            return bytes(respond(route.answer(self._visit, asked)).body)
        except HolterError as error:
            if problem_of(error)[0] >= 500:
                raise
            return b""
