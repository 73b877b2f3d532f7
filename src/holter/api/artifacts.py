"""Versions of the local store or of a server, for `Api().artifact()` and `Api().artifacts()`."""

from holter.artifacts.artifact import Artifact, Sealed
from holter.artifacts.book import Book
from holter.artifacts.far import FarStore
from holter.artifacts.names import parse_name
from holter.artifacts.store import Store
from holter.errors import NoArtifact, UsageError

USUAL_PROJECT = "uncategorized"


def find_artifact(place: Store | FarStore, name: str, *, type_: str | None, project: str = USUAL_PROJECT) -> Artifact:
    """One version. Raises NoArtifact, and UsageError for a name that several projects of this machine have.

    Args:
        project: that of a name without one, on a server.
    """
    wanted = parse_name(name, project=project if isinstance(place, FarStore) else "")
    if isinstance(place, FarStore):
        return _of_type(Artifact.of(place.find(wanted)), type_)
    if not wanted.project:
        there = place.projects_with(wanted.name)
        if len(there) > 1:
            raise UsageError(f"{wanted.name} is in {', '.join(there)}: write project/{wanted.name}")
        wanted = parse_name(name, project=there[0] if there else USUAL_PROJECT)
    book = place.book(wanted.project, wanted.name)
    return _of_type(Artifact.of(Sealed(place, book, book.find(wanted.alias))), type_)


def _of_type(found: Artifact, type_: str | None) -> Artifact:
    if type_ is not None and found.type != type_:
        raise NoArtifact(f"{found.name} is of type {found.type!r}, not {type_!r}")
    return found


def list_artifacts(
    place: Store | FarStore, *, type_: str | None, name: str, project: str | None, usual: str = USUAL_PROJECT
) -> list[Artifact]:
    """Versions that fit, newest first. A project before the name is read as well; a server is asked for one."""
    before, _, plain = name.rpartition("/")
    project = before.rpartition("/")[2] or project

    def fits(book: Book) -> bool:
        return type_ in (None, book.type) and plain in ("", book.name)

    if isinstance(place, FarStore):
        sealed: list[Sealed] = [each for each in place.list(project or usual) if fits(each.book)]
    else:
        books = [book for book in place.all_books() if project in (None, book.project)]
        sealed = [Sealed(place, book, version) for book in books if fits(book) for version in book.live()]
    sealed.sort(key=lambda each: each.version.made_ns, reverse=True)
    return [Artifact.of(each) for each in sealed]
