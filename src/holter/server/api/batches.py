"""What sidecars send all the time: ranges of a run's journals and texts, many in one message."""

import time
from collections.abc import Sequence
from typing import Annotated

import msgspec

from holter.errors import JournalError, UsageError
from holter.journal.stop_request import read_stop_request
from holter.server.api.ingest import unpacked
from holter.server.domain.removal import has_taken_in
from holter.server.transport.routing import Route, Visit
from holter.storage.journals import Answer, Part
from holter.wire.batches import MOST_RANGES, Head, Kept, decode_batch

MOST_AT_ONCE = 32 << 20
"""So many bytes are unpacked before they are brought to the disk."""


class AskedBatch(msgspec.Struct, frozen=True, kw_only=True):
    """The run to which the ranges belong."""

    run: Annotated[str, msgspec.Meta(max_length=128)]


class _Message(msgspec.Struct):
    """A message on its way: what it says, and what is said to it."""

    visit: Visit
    run: str
    head: Head
    parts: list[Part]
    answers: list[Answer] = []


def receive_batch(visit: Visit, asked: AskedBatch) -> Kept:
    """Keep ranges of journals and texts, each on disk before it is acknowledged; a repeat is a no-op"""
    [answer] = receive_batches([(visit, asked)])
    if isinstance(answer, Exception):
        raise answer
    return answer


def receive_batches(visits: Sequence[tuple[Visit, AskedBatch]]) -> list[Kept | Exception]:
    """The same for many senders: all that they sent is brought to the disk at once."""
    answers: list[Kept | Exception | None] = [None] * len(visits)
    opened: dict[int, _Message] = {}
    size = 0
    for place, (visit, asked) in enumerate(visits):
        try:
            opened[place] = _open(visit, asked.run)
            size += sum(len(part.data) for part in opened[place].parts)
        except Exception as error:  # noqa: BLE001  the boundary: one message that fails is one message
            answers[place] = error
        if size > MOST_AT_ONCE:
            _keep(opened, answers)
            size = 0
    _keep(opened, answers)
    return [answer for answer in answers if answer is not None]


def _open(visit: Visit, run: str) -> _Message:
    visit.services.verdicts.directory(run)
    head, datas = decode_batch(unpacked(visit))
    if len(head.ranges) > MOST_RANGES:
        raise UsageError(f"{len(head.ranges):,} ranges at once: {MOST_RANGES} are the most")
    visit.services.arrivals.admit(visit.who, run)
    visit.services.deletions.check(run)
    parts = [
        Part(run=run, kind=each.kind, name=each.name, offset=each.offset, data=data)
        for each, data in zip(head.ranges, datas, strict=True)
    ]
    return _Message(visit, run, head, parts)


def _keep(opened: dict[int, _Message], answers: list[Kept | Exception | None]) -> None:
    """Bring what was opened to the disk, and answer it."""
    if not opened:
        return
    services = next(iter(opened.values())).visit.services
    kept = iter(services.ingest.accept_all([part for message in opened.values() for part in message.parts]))
    for place, message in opened.items():
        message.answers = [next(kept) for _ in message.parts]
        try:
            answers[place] = _answer(message)
        except Exception as error:  # noqa: BLE001  the boundary, as above
            answers[place] = error
    opened.clear()


def _answer(message: _Message) -> Kept:
    services, run = message.visit.services, message.run
    offsets: dict[str, int] = {}
    refused: dict[str, str] = {}
    for part, answer in zip(message.parts, message.answers, strict=True):
        if isinstance(answer, JournalError | UsageError):
            refused[part.name] = str(answer)
        elif isinstance(answer, int):
            offsets[part.name] = answer
        else:
            services.deletions.check(run)  # its directory may have gone meanwhile
            raise answer
    has_taken_in(services, run)
    return Kept(
        id=message.head.id,
        offsets=offsets,
        refused=refused,
        stop=read_stop_request(services.verdicts.directory(run)),
        pace_s=services.pacer.note(
            run, time.monotonic(), is_watched=services.changes.readers > 0, behind_s=services.ingest.behind_s
        ),
    )


ROUTES = [
    Route(
        method="POST",
        path="/ingest/{run}",
        touches="arrival",
        answer=receive_batch,
        answer_all=receive_batches,
        asked=AskedBatch,
        result=Kept,
        needs="write",
        body="bytes",
    ),
]
