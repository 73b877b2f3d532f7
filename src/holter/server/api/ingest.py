"""What sidecars send: ranges of journals, consoles and files; each is kept once, on disk before it is acknowledged."""

import time
from typing import Annotated

import msgspec

from holter.errors import Refused
from holter.journal.stop_request import StopRequest, read_stop_request
from holter.server.domain.removal import taking_in
from holter.server.ingest.quota import Unpacking
from holter.server.ingest.uploads import name_upload
from holter.server.query.run_files import checked_name
from holter.server.security.gate import ZSTD
from holter.server.transport.routing import Nothing, Route, Visit
from holter.wire.batches import MOST_CLAIMED

# Senders send a third of it at most.
MOST_UNPACKED_BYTES = 16 << 20
MOST_FILE_BYTES = 64 << 20
# A message that says that it has no more is unpacked in one go.
FEW_BYTES = 1 << 20
Offset = Annotated[int, msgspec.Meta(ge=0, le=1 << 53)]
Run = Annotated[str, msgspec.Meta(max_length=128)]
Digest = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$")]


class AskedHoldings(msgspec.Struct, frozen=True):
    """One run."""

    run: Run


class AskedClaim(msgspec.Struct, frozen=True, kw_only=True):
    """A run as its sender knows it: its id, its project, the journals that lie with it."""

    run: Run
    project: Annotated[str, msgspec.Meta(max_length=1024)] | None = None
    journals: Annotated[list[Annotated[str, msgspec.Meta(max_length=100)]], msgspec.Meta(max_length=MOST_CLAIMED)] = []


class Upload(msgspec.Struct, frozen=True):
    """A file that is complete."""

    size: int
    sha256: str


class Holdings(msgspec.Struct, frozen=True, kw_only=True):
    """How much there is of each journal, console and file; and who wants the run to stop."""

    journals: dict[str, int]
    transcripts: dict[str, int]
    files: dict[str, Upload]
    stop: StopRequest | None = None
    run: str = ""
    """The id that the run has here."""


class JournalRange(msgspec.Struct, frozen=True, kw_only=True):
    """Bytes of a journal from an offset on; a lost segment is filled with zeros."""

    run: Run
    journal: Annotated[str, msgspec.Meta(max_length=100)]
    offset: Offset


class TranscriptRange(msgspec.Struct, frozen=True, kw_only=True):
    """Bytes of a file of the console from an offset on."""

    run: Run
    name: Annotated[str, msgspec.Meta(max_length=100)]
    offset: Offset


class FileRange(msgspec.Struct, frozen=True, kw_only=True):
    """Bytes of a file from an offset on, with the size and the digest that the whole file has."""

    run: Run
    path: Annotated[str, msgspec.Meta(max_length=1024)]
    offset: Offset
    total: Offset
    sha256: Digest


class KeptRange(msgspec.Struct, frozen=True):
    """The offset that the server has, all of it on disk: less than was sent where something before it is missing."""

    offset: int
    stop: StopRequest | None = None


class KeptFile(msgspec.Struct, frozen=True):
    """How much of a file there is; it can be seen when it is complete."""

    offset: int
    is_complete: bool


def claim(visit: Visit, asked: AskedClaim) -> Holdings:
    """What the server has of a run, and by which id: another where somebody else has a run with the one asked for"""
    visit.services.verdicts.directory(asked.run)
    run = visit.services.arrivals.claim(visit.who, asked.run, project=asked.project, journals=asked.journals)
    return _holdings(visit, run)


def holdings(visit: Visit, asked: AskedHoldings) -> Holdings:
    """What the server has of a run"""
    visit.services.verdicts.directory(asked.run)
    visit.services.arrivals.check(visit.who, asked.run)
    return _holdings(visit, asked.run)


def _holdings(visit: Visit, run: str) -> Holdings:
    visit.services.deletions.check(run)
    directory = visit.services.verdicts.directory(run)
    held = visit.services.ingest.received.held(run)
    blobs = visit.services.storage.blobs
    files = {path: Upload(blobs.size(digest) or 0, digest) for path, digest in blobs.attached(run).items()}
    return Holdings(
        run=run,
        journals=held.journals,
        transcripts=held.texts,
        files=files,
        stop=read_stop_request(directory),
    )


def receive_journal(visit: Visit, asked: JournalRange) -> KeptRange:
    """Keep a range of a journal; a repeat is a no-op"""
    data = unpacked(visit)
    visit.services.arrivals.admit(visit.who, asked.run)
    with taking_in(visit.services, asked.run):
        offset = visit.services.ingest.accept(asked.journal, asked.run, offset=asked.offset, data=data)
    return _kept(visit, asked.run, offset)


def receive_transcript(visit: Visit, asked: TranscriptRange) -> KeptRange:
    """Keep a range of a file of the console; a repeat is a no-op"""
    data = unpacked(visit)
    visit.services.arrivals.admit(visit.who, asked.run)
    with taking_in(visit.services, asked.run):
        offset = visit.services.ingest.accept_transcript(asked.run, asked.name, offset=asked.offset, data=data)
    return _kept(visit, asked.run, offset)


def receive_file(visit: Visit, asked: FileRange) -> KeptFile:
    """Keep a range of a file; the file is there when all of it is"""
    directory = visit.services.verdicts.directory(asked.run)
    name = checked_name(asked.path)
    blobs = visit.services.storage.blobs
    data = _unpacked(visit, MOST_FILE_BYTES, visit.services.unpacking_files)
    if asked.offset + len(data) > asked.total:
        raise Refused(400, f"the range ends behind the {asked.total:,} bytes that the file has")
    visit.services.arrivals.admit(visit.who, asked.run)
    with taking_in(visit.services, asked.run):
        have = blobs.stage(asked.sha256, data, offset=asked.offset)
        if have < asked.total:
            return KeptFile(have, is_complete=False)
        blobs.seal(asked.sha256)
        name_upload(directory, name, digest=asked.sha256)
        blobs.attach(asked.run, {name: asked.sha256})
    return KeptFile(have, is_complete=True)


def restore(visit: Visit, asked: AskedHoldings) -> Nothing:
    """Take a run again that was deleted; idempotent"""
    visit.services.verdicts.directory(asked.run)
    for run in visit.services.arrivals.names(visit.who, asked.run):
        visit.services.deletions.forget(run)
    return Nothing()


def _kept(visit: Visit, run: str, offset: int) -> KeptRange:
    return KeptRange(offset, read_stop_request(visit.services.verdicts.directory(run)))


def unpacked(visit: Visit) -> bytes:
    """Rows and texts as they were before they were packed, not more than is allowed. Raises Refused, StorageError."""
    return _unpacked(visit, MOST_UNPACKED_BYTES, visit.services.unpacking)


def _unpacked(visit: Visit, most: int, allowance: Unpacking) -> bytes:
    if visit.services.follower.trouble is not None:
        raise visit.services.follower.trouble
    if visit.headers.get("content-type", "").partition(";")[0].strip().lower() != ZSTD:
        return visit.data
    import zstandard

    unpacker = zstandard.ZstdDecompressor(max_window_size=1 << 27)
    try:
        if 0 <= zstandard.frame_content_size(visit.data) <= FEW_BYTES:
            data = unpacker.decompress(visit.data, allow_extra_data=False)
        else:
            with unpacker.stream_reader(visit.data) as reader:
                data = reader.read(most + 1)
    except zstandard.ZstdError as error:
        raise Refused(400, f"the body is not zstd: {error}") from error
    if len(data) > most:
        raise Refused(413, f"the body has more than {most:,} bytes when unpacked", do="send less at once")
    allowance.spend(visit.who.id, time.monotonic(), packed=len(visit.data), unpacked=len(data))
    return data


ROUTES = [
    Route(
        method="GET",
        path="/ingest/{run}",
        touches="arrival",
        answer=holdings,
        asked=AskedHoldings,
        result=Holdings,
        needs="write",
    ),
    Route(
        method="POST",
        path="/ingest/{run}/claim",
        touches="arrival",
        answer=claim,
        asked=AskedClaim,
        result=Holdings,
        needs="write",
        body="json",
    ),
    Route(
        method="POST",
        path="/ingest/{run}/restore",
        touches="arrival",
        act="run-restored",
        answer=restore,
        asked=AskedHoldings,
        needs="write",
        body="json",
    ),
    Route(
        method="POST",
        path="/ingest/{run}/journals/{journal}",
        touches="arrival",
        answer=receive_journal,
        asked=JournalRange,
        result=KeptRange,
        needs="write",
        body="bytes",
    ),
    Route(
        method="POST",
        path="/ingest/{run}/transcripts/{name}",
        touches="arrival",
        answer=receive_transcript,
        asked=TranscriptRange,
        result=KeptRange,
        needs="write",
        body="bytes",
    ),
    Route(
        method="PUT",
        path="/ingest/{run}/files/{path:path}",
        touches="arrival",
        answer=receive_file,
        asked=FileRange,
        result=KeptFile,
        needs="write",
        body="bytes",
    ),
]
