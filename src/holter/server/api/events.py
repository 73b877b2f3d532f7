"""The live stream: one for each client, with everything that it wants to know."""

from typing import Annotated

import msgspec

from holter.errors import Refused
from holter.server.live.changes import Wanted
from holter.server.transport.routing import Reply, Route, Visit

MOST_STREAMS = 500
MEDIA = "text/event-stream"


class AskedEvents(msgspec.Struct, frozen=True, kw_only=True):
    """Changes to the runs of a project, or to some runs (separated by commas), or to all.

    `after` is the number of the last event that was seen, as the header Last-Event-ID.
    """

    project: str | None = None
    runs: Annotated[str, msgspec.Meta(max_length=10_000)] = ""
    after: int | None = None


def events(visit: Visit, asked: AskedEvents) -> Reply:
    """What changes, while it changes: `run`, `rows`, `console`, `verdict`, `removed`, `views`; `reset` after a gap"""
    services = visit.services
    if services.changes.readers >= MOST_STREAMS:
        raise Refused(503, "too many live streams", do="close some pages", retry_s=30)
    sent = visit.headers.get("last-event-id", "")
    after = int(sent) if sent.isdecimal() and len(sent) < 19 else asked.after
    services.changes.refresh()
    visitor = visit.who
    wanted = Wanted(asked.project, frozenset(run for run in asked.runs.split(",") if run), visitor.user)
    stream = services.changes.follow(
        after,
        wanted,
        is_welcome=lambda: services.access.is_welcome(visitor),
        shown=lambda: services.access.rights(visitor).may_see,
    )
    # A proxy that waits for the end of an answer would wait for ever.
    return Reply(stream=stream, media=MEDIA, headers={"x-accel-buffering": "no"})


ROUTES = [
    Route(method="GET", path="/events", touches="listing", answer=events, asked=AskedEvents, result=bytes, media=MEDIA)
]
