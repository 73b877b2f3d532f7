"""What sidecars send all the time: ranges of a run's journals and texts, many in one message."""

import time
from typing import Annotated

import msgspec

from holter.errors import JournalError, UsageError
from holter.journal.stop_request import read_stop_request
from holter.server.api.ingest import unpacked
from holter.server.removal import taking_in
from holter.server.routing import Route, Visit
from holter.wire.batches import MOST_RANGES, Kept, Range, decode_batch


class AskedBatch(msgspec.Struct, frozen=True, kw_only=True):
    """The run to which the ranges belong."""

    run: Annotated[str, msgspec.Meta(max_length=128)]


def receive_batch(visit: Visit, asked: AskedBatch) -> Kept:
    """Keep ranges of journals and texts, each on disk before it is acknowledged; a repeat is a no-op"""
    directory = visit.desk.casebook.directory(asked.run)
    head, parts = decode_batch(unpacked(visit))
    if len(head.ranges) > MOST_RANGES:
        raise UsageError(f"{len(head.ranges):,} ranges at once: {MOST_RANGES} are the most")
    offsets: dict[str, int] = {}
    refused: dict[str, str] = {}
    visit.desk.arrivals.admit(visit.who, asked.run)
    with taking_in(visit.desk, asked.run):
        for each, data in zip(head.ranges, parts, strict=True):
            try:
                offsets[each.name] = _keep(visit, asked.run, each, data)
            except (JournalError, UsageError) as error:
                refused[each.name] = str(error)
    return Kept(
        id=head.id,
        offsets=offsets,
        refused=refused,
        stop=read_stop_request(directory),
        pace_s=visit.desk.pacer.note(asked.run, time.monotonic(), is_watched=visit.desk.changes.readers > 0),
    )


def _keep(visit: Visit, run: str, each: Range, data: bytes, /) -> int:
    ingest = visit.desk.ingest
    if each.kind == "journal":
        return ingest.accept(each.name, run, offset=each.offset, data=data)
    return ingest.accept_transcript(run, each.name, offset=each.offset, data=data)


ROUTES = [
    Route(
        method="POST",
        path="/ingest/{run}",
        touches="arrival",
        answer=receive_batch,
        asked=AskedBatch,
        result=Kept,
        needs="write",
        body="bytes",
    ),
]
