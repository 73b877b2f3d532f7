"""What those who run a server ask: is it alive, is it ready, and what does it do."""

import os
import shutil

import msgspec
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route as StarletteRoute

from holter.errors import Refused
from holter.server.domain.services import Services
from holter.server.exposition import MEDIA, expose
from holter.server.process.tally import note_of
from holter.server.transport.answering import PLAIN, Staff, endpoint_of
from holter.server.transport.routing import Nothing, Reply, Route, Visit

LEAST_FREE_BYTES = 16 << 20
MOST_LAG_S = 60.0


class Readiness(msgspec.Struct, frozen=True):
    """Whether all that is sent can be taken in and is soon seen; if not, why."""

    ready: bool
    because: list[str]
    index_lag_s: float
    disk_free_bytes: int


def judge(*, trouble: str, lag_s: float, free_bytes: int) -> Readiness:
    """Pure."""
    because = [trouble] if trouble else []
    if lag_s > MOST_LAG_S:
        because.append(f"the index is {lag_s:.0f} s behind what was received")
    if free_bytes < LEAST_FREE_BYTES:
        because.append(f"only {free_bytes >> 20} MiB are free on its disk")
    return Readiness(not because, because, round(lag_s, 1), free_bytes)


def metrics(visit: Visit, asked: Nothing) -> Reply:
    """The server's figures in the text format of Prometheus"""
    if visit.who.runs is not None:
        raise Refused(403, "a link shows runs, and not the server", do="use a key")
    return Reply(data=expose(visit.services, os.getpid()), media=MEDIA)


METRICS = Route(method="GET", path="/metrics", touches="server", answer=metrics, result=bytes, media=MEDIA)
"""For whoever has a key, as everything else."""


class Operation:
    """Three addresses beside the API: probes and Prometheus expect them there."""

    def __init__(self, services: Services, staff: Staff) -> None:
        self._services = services
        self._staff = staff

    def routes(self) -> list[StarletteRoute]:
        """For the application."""
        return [
            StarletteRoute("/healthz", self.is_alive),
            StarletteRoute("/readyz", self.is_ready),
            StarletteRoute(METRICS.path, endpoint_of(METRICS, self._services, staff=self._staff)),
        ]

    async def is_alive(self, request: Request) -> Response:
        """It answers: so the process lives, and its loop turns."""
        _name(request, "/healthz")
        return Response(b"ok\n", 200, PLAIN, "text/plain")

    async def is_ready(self, request: Request) -> Response:
        """200 or 503, and why. A stranger learns no path: what troubles an index names its file."""
        _name(request, "/readyz")
        services = self._services
        trouble = (
            "nothing can be taken in: see `trouble` of /api/v1/info" if services.follower.trouble is not None else ""
        )
        free_bytes = await run_in_threadpool(lambda: shutil.disk_usage(services.data).free)
        found = judge(trouble=trouble, lag_s=services.ingest.lag.seconds, free_bytes=free_bytes)
        return Response(msgspec.json.encode(found), 200 if found.ready else 503, PLAIN, "application/json")


def _name(request: Request, route: str) -> None:
    note = note_of(request.scope)
    note.route, note.kind = route, "health"
