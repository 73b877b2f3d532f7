"""Which versions a run made and used, as far as they have arrived here."""

import msgspec

from holter.artifacts.book import Book
from holter.artifacts.editing import version_of_content
from holter.catalog.read.run_artifacts import RunArtifact, artifacts_of
from holter.errors import ArtifactDamaged, NoArtifact, UsageError
from holter.server.api.artifacts import store_of
from holter.server.api.runs import AskedRun
from holter.server.transport.routing import Route, Visit

MOST = 200


class RunArtifactJson(RunArtifact, frozen=True, kw_only=True):
    """With `here`, the version's name on this server: empty where it has not arrived, or is deleted."""

    here: str


class RunArtifacts(msgspec.Struct, frozen=True):
    """The newest 200, oldest first."""

    artifacts: list[RunArtifactJson]


def list_artifacts_of_run(visit: Visit, asked: AskedRun) -> RunArtifacts:
    """The artifacts that a run made, wanted to make and used"""
    found = artifacts_of(visit.services.verdicts.load(asked.run))[-MOST:]
    books: dict[tuple[str, str], Book | None] = {}
    told = []
    for each in found:
        place = each.project, each.name
        if place not in books:
            books[place] = _book(visit, *place)
        told.append(RunArtifactJson(**msgspec.structs.asdict(each), here=_name_of(books[place], each.digest)))
    return RunArtifacts(told)


def _book(visit: Visit, project: str, name: str) -> Book | None:
    try:
        return store_of(visit, project).look(project, name)
    except (ArtifactDamaged, UsageError):  # a name that a journal claims
        return None


def _name_of(book: Book | None, digest: str) -> str:
    try:
        version = version_of_content(book, digest) if book is not None and digest else None
    except NoArtifact:
        return ""
    return version.name if version is not None and not version.trashed_ns else ""


ROUTES = [
    Route(
        method="GET",
        path="/runs/{run}/artifacts",
        touches="run",
        answer=list_artifacts_of_run,
        asked=AskedRun,
        result=RunArtifacts,
    )
]
