"""From a request to an answer: who asks, whether they may, what they ask, and the result as bytes."""

import asyncio
import functools
import traceback
from collections.abc import AsyncIterator, Awaitable, Callable

import anyio.to_thread
import msgspec
from anyio import CapacityLimiter
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Send

from holter.errors import HolterError, Refused
from holter.server.domain.services import Services
from holter.server.process.byte_budget import ByteBudget, Take
from holter.server.process.crowd import guest_of
from holter.server.process.tally import STREAM, note_of
from holter.server.security.access import CSRF_HEADER, Visitor
from holter.server.security.gate import BYTES, JSON, SAFE, ZSTD, check_content, check_origin
from holter.server.security.limits import neighbourhood
from holter.server.transport.admission import perform, perform_all
from holter.server.transport.packing import choose, pack
from holter.server.transport.problems import Error, Problem, problem_of
from holter.server.transport.routing import Reply, Route, Visit, read_asked
from holter.server.transport.together import Together
from holter.wire.connection import is_loopback

MOST_JSON_BYTES = 1 << 20
MOST_BODY_BYTES = 32 << 20
# Before anybody knows who asks.
MOST_STRANGER_BYTES = 16 << 10
# Of all requests together.
HELD_JSON_BYTES, HELD_BODY_BYTES = 64 << 20, 128 << 20
# So many unpack and write what was sent; whoever reads has threads of its own.
TAKERS, READERS = 8, 40
# A body comes within this time, and so much of it, or all that is left, in each shorter one: else it is ended.
BODY_WITHIN_S = 60.0
SLOW_S, SLOW_BYTES = 10.0, 16 << 10
SLOW_READER_S = 30.0
EVENTS = "text/event-stream"
MOST_RUN = 128
PLAIN = {"cache-control": "no-store", "x-content-type-options": "nosniff"}
ACCEPTED = {"json": {JSON}, "bytes": {BYTES, ZSTD}, "none": set[str]()}

Endpoint = Callable[[Request], Awaitable[Response]]


class Staff:
    """Memory and threads for the requests of one server: those who send never take them from those who read."""

    def __init__(self) -> None:
        self._budgets = {
            "json": ByteBudget(HELD_JSON_BYTES),
            "bytes": ByteBudget(HELD_BODY_BYTES),
            "none": ByteBudget(0),
        }
        self._threads = {"bytes": CapacityLimiter(TAKERS)}
        self._readers = CapacityLimiter(READERS)
        self._together: dict[str, Together] = {}

    def budget(self, route: Route) -> ByteBudget:
        """For the bodies of such requests."""
        return self._budgets[route.body]

    async def work_out(self, route: Route, work: Callable[[], Response]) -> Response:
        """Do it in a thread: it may wait for the disk."""
        return await anyio.to_thread.run_sync(work, limiter=self._threads.get(route.body, self._readers))

    def together(self, route: Route) -> Together:
        """Who answers such requests many at once."""
        if route.path not in self._together:
            self._together[route.path] = Together(functools.partial(perform_all, route))
        return self._together[route.path]

    def close(self) -> None:
        """Answer what was asked before. Idempotent."""
        for each in self._together.values():
            each.close()


def endpoint_of(route: Route, services: Services, *, staff: Staff) -> Endpoint:
    """What Starlette calls for a route."""

    kind = _kind(route)

    async def handle(request: Request) -> Response:
        note = note_of(request.scope)
        note.route, note.kind, note.run = route.path, kind, request.path_params.get("run", "")[:MOST_RUN]
        try:
            return await _answer(route, services, request=request, staff=staff)
        except (HolterError, OSError) as error:
            return failure(error)
        except ClientDisconnect:
            return Response(status_code=400)
        except Exception:  # noqa: BLE001  the boundary: one request that fails is one request
            # Without the query: it may hold what is nobody's business.
            services.complaints.say(f"{request.method} {request.url.path}: {traceback.format_exc()}")
            return _failed(
                500, Problem(Error("holter could not answer", "an error in holter itself", "see the server's terminal"))
            )

    return handle


def _kind(route: Route) -> str:
    """What a request takes, for those who count them."""
    if route.body == "bytes":
        return "ingest"
    if route.media == EVENTS:
        return STREAM
    return "read" if route.method in SAFE else "write"


def failure(error: HolterError | OSError) -> Response:
    """The answer to a request that could not be answered."""
    status, problem, retry_s = problem_of(error)
    return _failed(status, problem, retry_s)


def _failed(status: int, problem: Problem, retry_s: int | None = None) -> Response:
    headers = dict(PLAIN)
    if retry_s is not None:
        headers["retry-after"] = str(retry_s)
    if status == 401:
        headers["www-authenticate"] = "Bearer"
    if status == 408:
        headers["connection"] = "close"  # what still comes is nobody's any more
    return Response(problem.encode(), status, headers, "application/json")


async def _answer(route: Route, services: Services, *, request: Request, staff: Staff) -> Response:
    visitor = _admit(route, services, request)
    limit = _most_bytes(route, visitor)
    told = request.headers.get("content-length", "")
    size = int(told) if told.isdecimal() and len(told) < 19 else limit
    if size > limit:
        raise _too_large(limit)
    async with staff.budget(route).holding(visitor.id if visitor else "") as take:
        data = await _read_body(request, size, take)
        query = dict(request.query_params)
        asked = read_asked(route, path=request.path_params, query=query, data=data)
        visit = Visit(
            services=services,
            visitor=visitor,
            data=data if route.body == "bytes" else b"",
            headers=request.headers,
            is_secure=request.scope.get("scheme") == "https" or request.headers.get("x-forwarded-proto") == "https",
            address=address_of(request),
        )
        if route.answer_all is not None:
            answer = respond(await staff.together(route).ask((visit, asked)))
            if services.crowd.is_dense:
                answer.headers["connection"] = "close"
            return answer
        return await staff.work_out(route, lambda: _work_out(route, visit, asked, request))


def _most_bytes(route: Route, visitor: Visitor | None) -> int:
    if route.body == "none":
        return 0
    if visitor is None:
        return MOST_STRANGER_BYTES
    return MOST_BODY_BYTES if route.body == "bytes" else MOST_JSON_BYTES


def _work_out(route: Route, visit: Visit, asked: msgspec.Struct, request: Request, /) -> Response:
    """In a worker thread: large answers take a while to encode."""
    result = perform(route, visit, asked)
    if request.method == "HEAD" and isinstance(result, Reply) and result.stream is not None:
        return Response(None, result.status, {**PLAIN, **result.headers}, result.media)
    return _packed(respond(result), request)


def _packed(response: Response, request: Request) -> Response:
    if isinstance(response, StreamingResponse):
        return response
    media = response.headers.get("content-type", "")
    accepted = request.headers.get("accept-encoding", "")
    how = choose(accepted, media, size=len(response.body), is_far=_is_far(request))
    if how:
        response.body = pack(bytes(response.body), how)
        response.headers["content-length"] = str(len(response.body))
        response.headers["content-encoding"] = how
        response.headers["vary"] = "accept-encoding"
    return response


def _is_far(request: Request) -> bool:
    """Whether there is a network between us, or a proxy before which there is one."""
    host = request.client.host if request.client else ""
    return "x-forwarded-proto" in request.headers or "x-forwarded-for" in request.headers or not is_loopback(host)


def _admit(route: Route, services: Services, request: Request) -> Visitor | None:
    """Who asks, where they may. Raises Refused."""
    address = address_of(request)
    now = asyncio.get_running_loop().time()
    check_origin(request.method, request.headers)
    visitor = services.access.identify(request.headers)
    if visitor is not None:
        note_of(request.scope).who = visitor.id
        if (guest := guest_of(request.scope)) is not None:
            services.crowd.welcome(guest)
    services.requests.spend(visitor.id if visitor else address, now)
    if visitor is None and route.needs != "nothing":
        if "authorization" in request.headers:
            services.failures.spend(address, now)
        raise Refused(401, _stranger(request), why="every request needs a key", do=_how_to_enter(services))
    if visitor is not None and route.needs != "nothing":
        _check_rights(route, services, request, visitor)
    check_content(request.method, request.headers, accepted=ACCEPTED[route.body])
    return visitor


def address_of(request: Request) -> str:
    """Whoever is limited by where they come from."""
    return neighbourhood(request.client.host if request.client else "")


def _check_rights(route: Route, services: Services, request: Request, visitor: Visitor) -> None:
    if not visitor.may(route.needs):
        raise Refused(
            403,
            f"the key {visitor.name!r} may not do this",
            why=f"it has the scope {visitor.scope}, and this needs {route.needs}",
            do="ask whoever runs the server for a key with that scope",
        )
    sent = request.headers.get(CSRF_HEADER, "")
    if request.method not in SAFE and not services.access.is_from_page(visitor, sent):
        raise Refused(
            403,
            "a write with a cookie needs the header X-Holter-CSRF",
            why="so no other page can use the cookie",
            do="take the value from `csrf` of /api/v1/info, or use a key in the header Authorization",
        )


def _stranger(request: Request) -> str:
    return "this key is not known here" if "authorization" in request.headers else "you are not logged in"


def _how_to_enter(services: Services) -> str:
    if services.settings.kind == "ui":
        return "open the URL that `holter ui` printed; it has a token in it"
    return "send `Authorization: Bearer KEY`, or log in; `holter server keys add NAME` makes a key"


async def _read_body(request: Request, most: int, take: Take) -> bytes:
    """The body, not a byte more than allowed, not forever, and not by the byte. Raises Refused."""
    parts, size, seen = [], 0, 0
    now = asyncio.get_running_loop().time
    until, look_at = now() + BODY_WITHIN_S, now() + SLOW_S
    try:
        async with asyncio.timeout_at(min(until, look_at)) as limit:
            async for part in request.stream():
                size += len(part)
                if size > most:
                    raise _too_large(most)
                before = now()
                limit.reschedule(None)
                await take(len(part))
                waited_s = now() - before
                until, look_at = until + waited_s, look_at + waited_s
                parts.append(part)
                if size - seen >= SLOW_BYTES:
                    seen, look_at = size, now() + SLOW_S
                limit.reschedule(min(until, look_at))
    except TimeoutError:
        why = f"it has {BODY_WITHIN_S:g} s, and at least {SLOW_BYTES:,} bytes of it must come in each {SLOW_S:g} s"
        raise Refused(408, "the body did not arrive in time", why=why, do="send smaller parts") from None
    return b"".join(parts)


def _too_large(most: int) -> Refused:
    return Refused(413, f"the body has more than {most:,} bytes", do="send less, or in parts")


def respond(result: object) -> Response:
    """A result as an answer."""
    if not isinstance(result, Reply):
        return Response(msgspec.json.encode(result), 200, PLAIN, "application/json")
    headers = {**PLAIN, **result.headers}
    if result.stream is not None:
        return LiveResponse(result.stream, result.status, headers, result.media)
    return Response(result.data, result.status, headers, result.media or None)


class LiveResponse(StreamingResponse):
    """A stream whose reader is dropped when it takes nothing for too long: it comes back and goes on from there."""

    async def stream_response(self, send: Send) -> None:
        """Send until the end, or until the reader is too slow."""
        start = {"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers}
        await send(start)
        stream: AsyncIterator[bytes] = self.body_iterator  # type: ignore[assignment]  # ours gives bytes
        try:
            async for chunk in stream:
                async with asyncio.timeout(SLOW_READER_S):
                    await send({"type": "http.response.body", "body": chunk, "more_body": True})
        except TimeoutError:
            return
        await send({"type": "http.response.body", "body": b"", "more_body": False})
