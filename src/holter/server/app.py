"""The HTTP application: the route table, the document that describes it, and the page."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Mapping

import msgspec
from starlette.applications import Starlette
from starlette.convertors import PathConvertor, register_url_convertor
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Match
from starlette.routing import Route as StarletteRoute
from starlette.types import ASGIApp, Receive, Scope, Send

from holter.errors import Refused
from holter.model.struct_types import prepare_structs
from holter.server.domain.housekeeping import Housekeeper
from holter.server.domain.rounds import make_rounds
from holter.server.domain.services import Services
from holter.server.operation import Operation
from holter.server.pages import Pages
from holter.server.process.tally import Counted
from holter.server.route_table import load_routes
from holter.server.security.gate import check_host
from holter.server.transport.answering import Endpoint, Staff, endpoint_of, failure
from holter.server.transport.openapi import make_document
from holter.server.transport.routing import PREFIX

MOST_URL = 16_000


class WholeConvertor(PathConvertor):
    """The rest of a path, whatever is in it: the framework's own ends at a new line, which a file's name may have."""

    regex = "(?s:.*)"


register_url_convertor("whole", WholeConvertor())
_WHOLE = ":whole}"


def make_app(services: Services, when_ready: Callable[[], None] = lambda: None) -> ASGIApp:
    """The application for open services: it begins to follow the runs with its first request and ends with its last."""
    routes = load_routes()
    prepare_structs()
    document = msgspec.json.encode(make_document(routes))

    async def describe(request: Request) -> Response:
        return Response(document, 200, {"cache-control": "no-cache"}, "application/json")

    async def no_such_thing(request: Request) -> Response:
        allowed = [route.methods for route in table if route.matches(request.scope)[0] is Match.PARTIAL]
        return _not_here(request.method, sorted({method for methods in allowed for method in methods or ()}))

    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        services.open()
        rounds = asyncio.create_task(make_rounds(services))
        housekeeper = Housekeeper(services)
        housekeeper.start()
        when_ready()
        yield
        rounds.cancel()
        housekeeper.close()
        staff.close()

    staff = Staff()
    table = [
        StarletteRoute(
            PREFIX + route.path.replace(":path}", _WHOLE),
            endpoint_of(route, services, staff=staff),
            methods=[route.method],
            name=route.path,
        )
        for route in routes
    ]
    app = Starlette(
        routes=[
            StarletteRoute(f"{PREFIX}/openapi.json", describe),
            *table,
            StarletteRoute("/api/{rest" + _WHOLE, no_such_thing, methods=list(_METHODS)),
            *Operation(services, staff).routes(),
            StarletteRoute("/{path" + _WHOLE, Pages(services).answer),
        ],
        exception_handlers={HTTPException: _as_problem},
        lifespan=lifespan,
    )
    hot = {route.path: endpoint_of(route, services, staff=staff) for route in routes if route.answer_all is not None}
    tell = services.access_log.add if services.access_log is not None else lambda note: None
    return Counted(HostGate(Shortcut(app, hot), services), services.tally, tell=tell)


_METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")


def _not_here(method: str, allowed: list[str]) -> Response:
    what = f"{method} is not possible here" if allowed else "there is no such address"
    answer = failure(Refused(405 if allowed else 404, what, do=f"see {PREFIX}/openapi.json"))
    if allowed:
        answer.headers["allow"] = ", ".join(allowed)
    return answer


async def _as_problem(request: Request, error: Exception) -> Response:
    """Only pages are left for Starlette to refuse, and those can only be read."""
    return _not_here(request.method, ["GET", "HEAD"])


class Shortcut:
    """Brings what senders send all the time to its endpoint: the way through the framework costs as much as that.

    Args:
        endpoints: by path below the prefix, which ends with its only parameter.
    """

    def __init__(self, app: ASGIApp, endpoints: Mapping[str, Endpoint]) -> None:
        self._app = app
        parts = {path: path.rpartition("/") for path in endpoints}
        self._ways = [(f"{PREFIX}{parts[path][0]}/", parts[path][2].strip("{}"), endpoints[path]) for path in endpoints]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] == "http" and scope["method"] == "POST":
            for start, name, endpoint in self._ways:
                rest = scope["path"].removeprefix(start)
                if rest and rest != scope["path"] and "/" not in rest:
                    scope["path_params"] = {name: rest}
                    response = await endpoint(Request(scope, receive, send))
                    await response(scope, receive, send)
                    return
        await self._app(scope, receive, send)


class HostGate:
    """Turns away what is asked under a name that is not ours, before anything else is looked at."""

    def __init__(self, app: ASGIApp, services: Services) -> None:
        self._app = app
        self._allowed = frozenset(name.lower() for name in services.settings.allowed_hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] == "http":
            hosts = [value.decode("latin-1") for name, value in scope["headers"] if name == b"host"]
            try:
                check_host(hosts[0] if len(hosts) == 1 else "", self._allowed)
                if len(scope["path"]) + len(scope["query_string"]) > MOST_URL:
                    raise Refused(414, "the address is too long")
            except Refused as refused:
                await failure(refused)(scope, receive, send)
                return
        await self._app(scope, receive, send)
