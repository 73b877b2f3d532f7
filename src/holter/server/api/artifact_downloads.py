"""Versions for programs: a name's book, a version's manifest and its pieces; and all files of a version as one."""

import time
import zipfile
from collections.abc import Iterator
from typing import Annotated, Any
from urllib.parse import quote

import msgspec

from holter.artifacts import editing
from holter.artifacts.book import Book
from holter.artifacts.fetching import Reading
from holter.artifacts.manifest import encode, is_digest
from holter.artifacts.shelf import PieceShelf
from holter.artifacts.uploading import MOST_BATCH, frame
from holter.errors import ArtifactDamaged, NoArtifact, Refused, UsageError
from holter.server.api.artifacts import (
    AskedArtifact,
    AskedVersion,
    Text,
    manifest_of,
    number_of,
    route,
    store_of,
    streamed,
)
from holter.server.transport.routing import Nothing, Reply, Visit

_DAY_ONE = (1980, 1, 1, 0, 0, 0)
"""Of a file in an archive: versions keep no times."""
_CHUNK_BYTES = 1 << 20


class AskedPieces(msgspec.Struct, frozen=True, kw_only=True):
    """Pieces of a version, in the order in which they are wanted."""

    project: Text
    name: Text
    version: Text
    pieces: Annotated[list[Annotated[str, msgspec.Meta(max_length=64)]], msgspec.Meta(min_length=1, max_length=1000)]


class AskedUse(msgspec.Struct, frozen=True, kw_only=True):
    """`by` is a run that takes a version as its input; `digest` names it where its number is another machine's."""

    project: Text
    name: Text
    by: Annotated[str, msgspec.Meta(min_length=1, max_length=128)]
    version: Text = ""
    digest: Annotated[str, msgspec.Meta(max_length=64)] = ""


class EditedVersion(editing.Edit, frozen=True, kw_only=True):
    """What is said anew of a version; what is left out stays. `aliases` are all that it has, beside `latest`."""

    project: Text
    name: Text
    version: Text


def show_book(visit: Visit, asked: AskedArtifact) -> Book:
    """All versions of a name, as a program needs them"""
    return store_of(visit, asked.project).book(asked.project, asked.name)


def show_manifest(visit: Visit, asked: AskedVersion) -> Reply:
    """The files of a version and their pieces, compressed with zstd"""
    manifest = manifest_of(visit, asked.project, name=asked.name, version=asked.version)
    return Reply(data=encode(manifest), media="application/octet-stream")


def read_pieces(visit: Visit, asked: AskedPieces) -> Reply:
    """The first of these pieces, as many as 16 MiB hold, and one at least"""
    manifest = manifest_of(visit, asked.project, name=asked.name, version=asked.version)
    theirs = {digest for digest, _ in manifest.pieces}
    if strange := [digest for digest in asked.pieces if digest not in theirs]:
        raise NoArtifact(f"{asked.name}:{asked.version} has no piece {strange[0]!r}")
    return Reply(data=_frames(store_of(visit, asked.project).shelf, asked.pieces), media="application/octet-stream")


def _frames(shelf: PieceShelf, wanted: list[str]) -> bytes:
    body = bytearray()
    for digest in wanted:
        try:
            data, is_compressed = shelf.read(digest)
        except OSError as error:
            raise ArtifactDamaged(f"the piece {digest[:12]} is missing ({error.strerror or error})") from error
        if body and len(body) + len(data) > MOST_BATCH:
            break
        body += frame(digest, data, is_compressed=is_compressed)
    return bytes(body)


def note_use(visit: Visit, asked: AskedUse) -> Nothing:
    """Write down that a run takes a version as its input"""
    store = store_of(visit, asked.project)
    store.book(asked.project, asked.name)
    if (project := visit.services.runs.project_of(asked.by)) is not None:
        if not visit.rights.may_see(asked.by, project):
            raise Refused(404, f"there is no run {asked.by!r}")
        if not visit.rights.may_change(project):
            raise Refused(403, f"the run {asked.by} is not yours", do="ask a writer of its project")
    if asked.digest and not is_digest(asked.digest):
        raise UsageError(f"{asked.digest!r} is no digest")
    with store.change(asked.project, asked.name) as book:
        by = asked.digest
        version = editing.version_of_content(book, by) if by else book.find(asked.version)
        editing.note_use(version, asked.by)
    return Nothing()


def edit_version(visit: Visit, asked: EditedVersion) -> Nothing:
    """Say anew what a version is called, and what is known of it"""
    store = store_of(visit, asked.project, is_change=True)
    with store.change(asked.project, asked.name) as book:
        editing.edit_version(book, number_of(asked.version), asked, at_ns=time.time_ns())
    return Nothing()


def read_archive(visit: Visit, asked: AskedVersion) -> Reply:
    """All files of a version as a ZIP, each checked while it is sent"""
    store = store_of(visit, asked.project)
    version = store.book(asked.project, asked.name).find(asked.version)
    manifest = store.manifest(version.digest)
    reading = Reading(manifest, store.read)

    def parts() -> Iterator[bytes]:
        out = _Outlet()
        with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as archive:  # type: ignore[call-overload]  # it only writes
            for entry in manifest.entries:
                if entry.reference:
                    continue
                info = zipfile.ZipInfo(entry.path, _DAY_ONE)
                info.external_attr = 0o644 << 16
                with archive.open(info, "w", force_zip64=entry.bytes >= 1 << 31) as file:
                    for part in reading.parts(entry):
                        file.write(part)
                        yield from out.taken(_CHUNK_BYTES)
        yield from out.taken(1)

    name = quote(f"{asked.name}-{version.name}.zip", safe="")
    headers = {"content-disposition": f"attachment; filename*=UTF-8''{name}", "cache-control": "private, no-cache"}
    return Reply(stream=streamed(parts()), headers=headers, media="application/zip")


class _Outlet:
    """A file that can't be gone back in: what is written waits to be taken."""

    def __init__(self) -> None:
        self._waiting = bytearray()

    def write(self, data: Any) -> int:
        self._waiting += data
        return len(data)

    def flush(self) -> None:
        """There is nothing behind it."""

    def taken(self, least: int) -> Iterator[bytes]:
        if len(self._waiting) >= least:
            yield bytes(self._waiting)
            self._waiting.clear()


BYTES: dict[str, Any] = {"result": bytes, "media": "application/octet-stream"}
ROUTES = [
    route("GET", "/artifact/book", show_book, AskedArtifact, result=Book),
    route("GET", "/artifact/manifest", show_manifest, AskedVersion, **BYTES),
    route("POST", "/artifact/read", read_pieces, AskedPieces, body="json", **BYTES),
    route(
        "GET", "/artifact/archive", read_archive, AskedVersion, result=bytes, media="application/zip", act="exported"
    ),
    route("POST", "/artifact/use", note_use, AskedUse, needs="write", body="json"),
    route("PATCH", "/artifact/version", edit_version, EditedVersion, needs="write", body="json", act="version-edited"),
]
