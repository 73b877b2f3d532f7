"""Artifacts: names with their versions, files of a version, what differs, previews and downloads."""

import os
import time
from collections.abc import AsyncIterator, Iterator
from typing import Annotated, Any
from urllib.parse import quote

import msgspec
from starlette.concurrency import run_in_threadpool

from holter.artifacts.book import Book, Version, check_alias
from holter.artifacts.editing import protect
from holter.artifacts.fetching import Reading
from holter.artifacts.manifest import Entry, Manifest
from holter.artifacts.store import Store
from holter.artifacts.versions import Versions
from holter.errors import NoArtifact, Refused
from holter.server.api.files import SANDBOX
from holter.server.query.artifact_preview import Preview, preview
from holter.server.query.run_files import media_of
from holter.server.transport.routing import Nothing, Reply, Route, Visit

MOST_FILES = 2000
Text = Annotated[str, msgspec.Meta(max_length=1024)]


class AskedArtifacts(msgspec.Struct, frozen=True, kw_only=True):
    """Of which project."""

    project: Text


class AskedArtifact(msgspec.Struct, frozen=True, kw_only=True):
    """One name."""

    project: Text
    name: Text


class AskedFiles(msgspec.Struct, frozen=True, kw_only=True):
    """The files of a version, compared with those of another; `version` may be an alias."""

    project: Text
    name: Text
    version: Text
    against: Text = ""


class AskedContent(msgspec.Struct, frozen=True, kw_only=True):
    """One file of a version; with `download` the browser saves it instead of showing it."""

    project: Text
    name: Text
    version: Text
    path: Text
    download: bool = False


class NewAlias(msgspec.Struct, frozen=True, kw_only=True):
    """An alias for a version; `remove` takes it away. With `expected` only if that version, or none for "", has it.

    `protected` has it hold its version from now on, or no more; left out, that stays.
    """

    project: Text
    name: Text
    version: Text
    alias: Text
    remove: bool = False
    expected: Text | None = None
    protected: bool | None = None


class AskedVersion(msgspec.Struct, frozen=True, kw_only=True):
    """A version to be deleted or brought back."""

    project: Text
    name: Text
    version: Text


class ArtifactBrief(msgspec.Struct, frozen=True):
    """A name, for a list."""

    name: str
    type: str
    versions: int
    newest: str
    bytes: int
    """Of all versions together, as they are kept: what they share counts once."""
    absent: str
    """Why the newest upload did not come to be; empty where it did."""


class Artifacts(msgspec.Struct, frozen=True):
    """By type and name."""

    artifacts: list[ArtifactBrief]


class RunOfArtifact(msgspec.Struct, frozen=True):
    """A run beside an artifact; without a name it is not there any more."""

    id: str
    project: str
    name: str
    state: str
    cause: str | None


class VersionJson(msgspec.Struct, frozen=True):
    """A version as the page shows it."""

    version: str
    aliases: list[str]
    digest: str
    bytes: int
    new_bytes: int
    files: int
    made_at: float
    description: str
    metadata: dict[str, Any]
    expires_at: float | None
    made_by: RunOfArtifact | None
    used_by: list[RunOfArtifact]


class AbsentJson(msgspec.Struct, frozen=True):
    """A version that did not come to be."""

    at: float
    why: str
    run: str


class Linked(msgspec.Struct, frozen=True):
    """A version that a run used as input, made, or wanted to make: then `version` is empty."""

    run: str
    project: str
    name: str
    type: str
    version: str
    bytes: int


class ArtifactDetail(msgspec.Struct, frozen=True):
    """A name with all its versions, newest first."""

    project: str
    name: str
    type: str
    description: str
    stored_bytes: int
    protected: list[str]
    versions: list[VersionJson]
    trashed: list[str]
    absent: list[AbsentJson]
    inputs: list[Linked]
    """What the runs that made its versions had used."""
    outputs: list[Linked]
    """What the runs that used its versions made."""
    may_change: bool


class FileJson(msgspec.Struct, frozen=True):
    """A file; `change` is new, changed, same or gone beside the version it is compared with."""

    path: str
    bytes: int
    digest: str
    reference: str
    change: str


class VersionFiles(msgspec.Struct, frozen=True):
    """Up to 2,000 of them; `total` is how many there are."""

    files: list[FileJson]
    total: int


def list_artifacts(visit: Visit, asked: AskedArtifacts) -> Artifacts:
    """The artifacts of a project"""
    store = store_of(visit, asked.project)
    books = sorted(store.all_books(asked.project), key=lambda book: (book.type, book.name))
    return Artifacts([_brief(store, book) for book in books])


def show_artifact(visit: Visit, asked: AskedArtifact) -> ArtifactDetail:
    """An artifact with its versions, and the runs and artifacts around it"""
    store = store_of(visit, asked.project)
    book = store.book(asked.project, asked.name)
    # Runs take versions of other projects, and runs of other projects take these.
    around = [each for each in store.all_books() if each.project not in visit.rights.hidden]
    makers = {version.run for version in book.live() if version.run}
    users = {run for version in book.live() for run in version.used_by}
    return ArtifactDetail(
        project=book.project,
        name=book.name,
        type=book.type,
        description=book.description or next((v.description for v in reversed(book.live()) if v.description), ""),
        stored_bytes=_stored(store, book),
        protected=book.protected,
        versions=[_version(visit, book, version) for version in reversed(book.live())],
        trashed=[version.name for version in book.versions if version.trashed_ns],
        absent=[AbsentJson(each.at_ns / 1e9, each.why, each.run) for each in reversed(book.absent)],
        inputs=[_linked(o, v, run) for o in around for v in o.live() for run in v.used_by if run in makers],
        outputs=[
            *(_linked(o, v, v.run) for o in around for v in o.live() if v.run in users),
            *(
                Linked(each.run, o.project, o.name, o.type, "", 0)
                for o in around
                for each in o.absent
                if each.run in users
            ),
        ],
        may_change=visit.rights.may_change(asked.project),
    )


def list_version_files(visit: Visit, asked: AskedFiles) -> VersionFiles:
    """The files of a version, and what became of each since another one"""
    manifest = manifest_of(visit, asked.project, name=asked.name, version=asked.version)
    if not asked.against:
        found = [_file(entry, "") for entry in manifest.entries]
    else:
        before = manifest_of(visit, asked.project, name=asked.name, version=asked.against)
        found = _compared(manifest, before)
    return VersionFiles(found[:MOST_FILES], len(found))


def preview_file(visit: Visit, asked: AskedContent) -> Preview:
    """What a file has in it: the beginning of a text, names and shapes of tensors"""
    manifest = manifest_of(visit, asked.project, name=asked.name, version=asked.version)
    return preview(_entry(manifest, asked.path), Reading(manifest, store_of(visit, asked.project).read))


def read_content(visit: Visit, asked: AskedContent) -> Reply:
    """A file of a version, checked while it is sent"""
    manifest = manifest_of(visit, asked.project, name=asked.name, version=asked.version)
    entry = _entry(manifest, asked.path)
    if entry.reference:
        raise Refused(404, f"{asked.path} is kept elsewhere: {entry.reference}")
    media = media_of(asked.path)
    is_shown = not asked.download and media != "application/octet-stream"
    name = quote(asked.path.rpartition("/")[2], safe="")
    headers = {
        "content-security-policy": SANDBOX,
        "content-disposition": f"{'inline' if is_shown else 'attachment'}; filename*=UTF-8''{name}",
        "content-length": str(entry.bytes),
        "cache-control": "private, no-cache",
        "cross-origin-resource-policy": "same-origin",
    }
    media = f"{media}; charset=utf-8" if media.startswith("text/") else media
    parts = Reading(manifest, store_of(visit, asked.project).read).parts(entry)
    return Reply(stream=streamed(parts), headers=headers, media=media)


def move_alias(visit: Visit, asked: NewAlias) -> Nothing:
    """Move an alias to a version, or take it away"""
    store = store_of(visit, asked.project, is_change=True)
    with store.change(asked.project, asked.name) as book:
        number = None if asked.remove else book.find(asked.version).number
        expected: int | str | None = ""
        if asked.expected is not None:
            expected = book.find(asked.expected).number if asked.expected else None
        book.move(check_alias(asked.alias), number, expected=expected, at_ns=time.time_ns())
        if asked.protected is not None and number is not None:
            protect(book, asked.alias, is_on=asked.protected)
    return Nothing()


def delete_version(visit: Visit, asked: AskedVersion) -> Nothing:
    """Put a version into the trash, for seven days"""
    store = store_of(visit, asked.project, is_change=True)
    with store.change(asked.project, asked.name) as book:
        book.trash(number_of(asked.version), at_ns=time.time_ns())
    return Nothing()


def restore_version(visit: Visit, asked: AskedVersion) -> Nothing:
    """Take a version out of the trash"""
    store = store_of(visit, asked.project, is_change=True)
    with store.change(asked.project, asked.name) as book:
        book.restore(number_of(asked.version))
    return Nothing()


def number_of(version: str) -> int:
    """The number in v3. Raises NoArtifact."""
    number = version.removeprefix("v")
    if not number.isdecimal() or len(number) > 9:
        raise NoArtifact(f"{version[:40]!r} is no version: write v3")
    return int(number)


def store_of(visit: Visit, project: str, *, is_change: bool = False) -> Versions:
    """The store, as far as they may see it. Raises Refused."""
    rights = visit.rights
    # A link to some runs shows those alone; a private project is as good as not there: its store is an empty one.
    if rights.only is not None or project in rights.hidden:
        return Store(os.path.join(visit.services.data, ".nothing"))
    if is_change and not rights.may_change(project):
        raise Refused(403, f"you may not change what is in {project}", do="ask a writer of the project")
    return visit.services.artifacts


def manifest_of(visit: Visit, project: str, *, name: str, version: str) -> Manifest:
    """The files of a version. Raises NoArtifact, ArtifactDamaged."""
    store = store_of(visit, project)
    return store.manifest(store.book(project, name).find(version).digest)


def _entry(manifest: Manifest, path: str) -> Entry:
    if (entry := manifest.entry(path)) is None:
        raise NoArtifact(f"there is no file {path[:200]!r} in it")
    return entry


def _stored(store: Versions, book: Book) -> int:
    pieces = {piece for version in book.live() for piece, _ in store.manifest(version.digest).pieces}
    return store.shelf.stored_bytes(pieces)


def _brief(store: Versions, book: Book) -> ArtifactBrief:
    live = book.live()
    newest = live[-1].made_ns if live else 0
    failed = [each.why for each in book.absent if each.at_ns > newest]
    total = sum(version.new_bytes for version in live)
    return ArtifactBrief(
        book.name, book.type, len(live), live[-1].name if live else "", total, failed[-1] if failed else ""
    )


def _version(visit: Visit, book: Book, version: Version) -> VersionJson:
    return VersionJson(
        version=version.name,
        aliases=book.aliases_of(version.number),
        digest=version.digest,
        bytes=version.bytes,
        new_bytes=version.new_bytes,
        files=version.files,
        made_at=version.made_ns / 1e9,
        description=version.description,
        metadata=version.metadata,
        expires_at=version.expires_ns / 1e9 if version.expires_ns else None,
        made_by=_run(visit, version.run) if version.run else None,
        used_by=[_run(visit, run) for run in version.used_by[-50:]],
    )


def _run(visit: Visit, run: str) -> RunOfArtifact:
    row = visit.services.runs.get(run)
    if row is None or not visit.rights.may_see(run, row.project):
        return RunOfArtifact(run, "", "", "", None)
    now = row.at(visit.services.clock.now_ns(), visit.services.lateness)
    return RunOfArtifact(run, row.project, now.name, now.state, now.cause)


def _linked(book: Book, version: Version, run: str) -> Linked:
    return Linked(run, book.project, book.name, book.type, version.name, version.bytes)


def _file(entry: Entry, change: str) -> FileJson:
    return FileJson(entry.path, entry.bytes, entry.digest, entry.reference, change)


def _compared(now: Manifest, before: Manifest) -> list[FileJson]:
    known = {entry.path: entry.digest for entry in before.entries}
    found = [
        _file(each, "new" if each.path not in known else "same" if known[each.path] == each.digest else "changed")
        for each in now.entries
    ]
    left = {entry.path for entry in now.entries}
    return [*found, *(_file(entry, "gone") for entry in before.entries if entry.path not in left)]


async def streamed(parts: Iterator[bytes | memoryview]) -> AsyncIterator[bytes]:
    """What a thread makes, as an answer is sent."""
    while (part := await run_in_threadpool(next, parts, None)) is not None:
        yield bytes(part)


def route(method: str, path: str, answer: Any, asked: type[msgspec.Struct], /, **others: Any) -> Route:
    """A route of artifacts."""
    return Route(method=method, path=path, touches="listing", answer=answer, asked=asked, **others)


ROUTES = [
    route("GET", "/artifacts", list_artifacts, AskedArtifacts, result=Artifacts),
    route("GET", "/artifact", show_artifact, AskedArtifact, result=ArtifactDetail),
    route("GET", "/artifact/files", list_version_files, AskedFiles, result=VersionFiles),
    route("GET", "/artifact/preview", preview_file, AskedContent, result=Preview),
    route("GET", "/artifact/content", read_content, AskedContent, result=bytes, media="*/*", act="exported"),
    route("POST", "/artifact/alias", move_alias, NewAlias, needs="write", body="json", act="alias-moved"),
    route("DELETE", "/artifact/version", delete_version, AskedVersion, needs="write", act="version-deleted"),
    route(
        "POST", "/artifact/restore", restore_version, AskedVersion, needs="write", body="json", act="version-restored"
    ),
]
