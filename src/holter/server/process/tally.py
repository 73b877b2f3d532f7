"""Counts what is asked of a server, and how long the answers take: one look at each request as it passes."""

import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import msgspec
from starlette.types import ASGIApp, Message, Receive, Scope, Send

BOUNDS_S = (0.005, 0.025, 0.1, 0.5, 2.5, 10.0)
"""Upper ends of the classes into which times fall."""
STREAM = "stream"
_KEY = "holter-note"


class Note(msgspec.Struct):
    """What is known of one request when it is answered. Nothing in it is a secret."""

    at: float
    method: str
    address: str
    route: str = ""
    """As the route table has it, or what else it was: never the address that somebody typed."""
    kind: str = "other"
    """What it takes: `read`, `write`, `ingest`, `stream`, `page`, `health` or `other`."""
    run: str = ""
    who: str = ""
    """The id of a key."""
    status: int = 0
    seconds: float = 0.0
    bytes_in: int = 0
    bytes_out: int = 0


class Times:
    """How many answers took up to how long."""

    def __init__(self) -> None:
        self.counts = [0] * (len(BOUNDS_S) + 1)
        self.sum_s = 0.0

    def add(self, seconds: float) -> None:
        """One answer."""
        place = next((at for at, bound in enumerate(BOUNDS_S) if seconds <= bound), len(BOUNDS_S))
        self.counts[place] += 1
        self.sum_s += seconds


class Tally:
    """All requests since the start. Used by one event loop; others may look."""

    def __init__(self) -> None:
        self.requests: Counter[tuple[str, str, int]] = Counter()
        """By method, route and status: all of them ours, so their number is bounded."""
        self.times: dict[str, Times] = {}
        self.bytes_in = self.bytes_out = 0
        self.in_flight = 0

    def add(self, note: Note) -> None:
        """One that was answered."""
        self.requests[note.method, note.route, note.status] += 1
        self.bytes_in += note.bytes_in
        self.bytes_out += note.bytes_out
        if note.kind != STREAM:  # it lasts as long as somebody listens
            self.times.setdefault(note.kind, Times()).add(note.seconds)


class Counted:
    """An application whose requests are counted, and told one by one to whoever wants to know."""

    def __init__(self, app: ASGIApp, tally: Tally, *, tell: Callable[[Note], None] = lambda note: None) -> None:
        self._app = app
        self._tally = tally
        self._tell = tell

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        client = scope.get("client")
        method = scope["method"] if scope["method"] in _METHODS else "OTHER"
        note = scope[_KEY] = Note(time.time(), method, client[0] if client else "", route="other")
        began = time.perf_counter()

        async def hear() -> Message:
            message = await receive()
            note.bytes_in += len(message.get("body", b""))
            return message

        async def say(message: Message) -> None:
            note.status = message.get("status", note.status)
            note.bytes_out += len(message.get("body", b""))
            await send(message)

        self._tally.in_flight += 1
        try:
            await self._app(scope, hear, say)
        finally:
            self._tally.in_flight -= 1
            note.seconds = time.perf_counter() - began
            self._tally.add(note)
            self._tell(note)


_METHODS = frozenset(("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"))


def note_of(scope: Any) -> Note:
    """What is noted of a request; where nobody counts, a note that nobody reads."""
    found: Note | None = scope.get(_KEY)
    return found if found is not None else Note(0.0, "", "")
