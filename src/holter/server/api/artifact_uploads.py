"""Versions that senders bring: which pieces are missing, the pieces, and the manifest that makes a version of them."""

from typing import Annotated

import msgspec

from holter.artifacts.manifest import decode, is_digest
from holter.artifacts.uploading import Batch, Published, read_frames
from holter.artifacts.versions import Versions
from holter.artifacts.wishes import Wanted
from holter.errors import Refused, UsageError
from holter.server.transport.routing import Nothing, Route, Visit

Text = Annotated[str, msgspec.Meta(max_length=1024)]
_AHEAD_NS = 60 * 1_000_000_000


class AskedProject(msgspec.Struct, frozen=True, kw_only=True):
    """For which project."""

    project: Text


class AskedMissing(msgspec.Struct, frozen=True, kw_only=True):
    """The pieces of a version that is to be sent."""

    project: Text
    pieces: Annotated[list[Annotated[str, msgspec.Meta(max_length=64)]], msgspec.Meta(max_length=10_000)]


class Missing(msgspec.Struct, frozen=True):
    """Those that have to be sent."""

    missing: list[str]


def list_missing(visit: Visit, asked: AskedMissing) -> Missing:
    """Which of these pieces the server lacks"""
    store = _store(visit, asked.project)
    if not all(map(is_digest, asked.pieces)):
        raise UsageError("a piece is named by its SHA-256, as 64 hexadecimal digits")
    return Missing(store.shelf.lacking(asked.pieces))


def keep_pieces(visit: Visit, asked: AskedProject) -> Nothing:
    """Keep pieces, each checked; a version of them comes later"""
    sent = [(digest, data, is_compressed) for digest, is_compressed, data in read_frames(visit.data)]
    _store(visit, asked.project).add(sent)
    return Nothing()


def publish(visit: Visit, asked: AskedProject) -> Published:
    """Make a version of pieces that are there"""
    store = _store(visit, asked.project)
    try:
        sent = msgspec.msgpack.decode(visit.data, type=Batch)
    except (msgspec.MsgspecError, ValueError) as error:
        raise UsageError(f"the version can't be read: {error}") from error
    if sent.wanted.project != asked.project:
        raise UsageError("the version is of another project than it is sent to")
    manifest = decode(sent.manifest, sent.digest)
    version = store.publish(manifest, _trusted(visit, sent.wanted), new_bytes=max(0, sent.new_bytes))
    visit.note("version-kept", artifact=f"{asked.project}/{sent.wanted.name}:{version.name}")
    return Published(version.name, version.digest)


def _trusted(visit: Visit, wanted: Wanted) -> Wanted:
    """Nobody's clock takes an alias for ever, and nobody names a run that they may not see."""
    latest = visit.services.clock.now_ns() + _AHEAD_NS
    project = visit.services.runs.project_of(wanted.run)
    is_theirs = project is None or visit.rights.may_see(wanted.run, project)
    at_ns = max(0, min(wanted.at_ns, latest))
    return msgspec.structs.replace(wanted, at_ns=at_ns, run=wanted.run[:128] if is_theirs else "")


def _store(visit: Visit, project: str) -> Versions:
    if not visit.rights.may_change(project):
        raise Refused(403, f"you may not send to {project[:128]!r}", do="ask a writer of the project")
    if project in visit.services.full_projects:
        raise Refused(507, f"{project[:128]!r} has all that it may have", do="delete some of its runs")
    return visit.services.artifacts


ROUTES = [
    Route(
        method="POST",
        path="/artifact/missing",
        touches="listing",
        needs="write",
        answer=list_missing,
        asked=AskedMissing,
        result=Missing,
        body="json",
    ),
    Route(
        method="POST",
        path="/artifact/pieces",
        touches="listing",
        needs="write",
        answer=keep_pieces,
        asked=AskedProject,
        body="bytes",
    ),
    Route(
        method="POST",
        path="/artifact/publish",
        touches="listing",
        needs="write",
        answer=publish,
        asked=AskedProject,
        result=Published,
        body="bytes",
    ),
]
