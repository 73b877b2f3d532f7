"""The one place that decides who may ask what of which run: the route says what it touches, this says whether."""

import contextlib
from collections.abc import Sequence
from typing import Any

import msgspec

from holter.errors import NoRun, Refused
from holter.server.security.audit import names_in
from holter.server.transport.routing import Route, Visit

FULL_RETRY_S = 300


def perform(route: Route, visit: Visit, asked: msgspec.Struct, /) -> Any:
    """Answer a question, where whoever asks may. Raises Refused, NoRun, and what the answer raises."""
    asked = _admitted(route, visit, asked)
    result = route.answer(visit, asked)
    if route.act and getattr(asked, "download", True):  # a file that is only looked at is no export
        made = {"made": result.id} if hasattr(result, "id") else {}
        visit.note(route.act, **names_in(asked), **made)
    return result


def perform_all(route: Route, questions: Sequence[tuple[Visit, msgspec.Struct]]) -> list[object]:
    """Answer many questions at once; for each an answer, or the exception that `perform` would have raised."""
    assert route.answer_all is not None
    answers: list[object] = [None] * len(questions)
    admitted: list[tuple[int, tuple[Visit, msgspec.Struct]]] = []
    for place, (visit, asked) in enumerate(questions):
        try:
            admitted.append((place, (visit, _admitted(route, visit, asked))))
        except Exception as error:  # noqa: BLE001  the boundary: one that is refused is one
            answers[place] = error
    given = route.answer_all([question for _, question in admitted]) if admitted else ()
    for (place, _), answer in zip(admitted, given, strict=True):
        answers[place] = answer
    return answers


def _admitted(route: Route, visit: Visit, asked: msgspec.Struct) -> msgspec.Struct:
    if visit.visitor is None:
        return asked
    with contextlib.suppress(OSError):  # a full disk keeps nobody from reading
        visit.services.access.last_use.keep(visit.services.now())
    match route.touches:
        case "run":
            _check_run(route, visit, _run_of(asked))
        case "own run":
            _check_owner(visit, _run_of(asked))
        case "runs":
            return _without_hidden(visit, asked)
        case "every run":
            _check_every(visit, asked)
        case "arrival":
            _check_arrival(visit, _run_of(asked), getattr(asked, "project", None))
        case "server" | "listing":
            pass
    return asked


def _check_run(route: Route, visit: Visit, run: str) -> None:
    """What they may not know of is as what is not there; what they may not change they may still see."""
    project = _seen_project(visit, run)
    if route.needs == "read" or project is None or visit.rights.may_change(project):
        return
    raise _not_theirs(run, project)


def _check_owner(visit: Visit, run: str) -> None:
    project = _seen_project(visit, run)
    owner = visit.services.arrivals.owner(run)
    if visit.rights.may_own(project or "", owner=owner.user if owner is not None else None):
        return
    raise Refused(
        403,
        f"the run {run[:128]!r} is not yours",
        why="its owner may do this, the writers named for its project, and admins",
        do=f"ask {owner.user}, who sent it" if owner is not None else "ask an admin",
    )


def _check_arrival(visit: Visit, run: str, told: str | None) -> None:
    """Whether they may send to the project that a run is in, and to the one that they say it is in."""
    # Whose run it is, is asked elsewhere: what is somebody else's is refused there, or gets another id.
    known = _project_of(visit, run) if _is_own(visit, run) else None
    if told in visit.services.full_projects and not visit.services.arrivals.has_sent(visit.who, run):
        raise Refused(
            507,
            f"the project {told} is full",
            why="it has as many bytes as it may, and takes no new runs",
            do="delete runs of it, or ask an admin for more",
            retry_s=FULL_RETRY_S,
        )
    for project in (told, known):
        if project and not visit.rights.may_change(project):
            raise Refused(
                403,
                f"you may not send runs to the project {project[:100]!r}",
                why="it takes runs from its writers only",
                do="ask an admin to name you as one, or set another HOLTER_PROJECT",
            )


def _without_hidden(visit: Visit, asked: msgspec.Struct) -> msgspec.Struct:
    """Of the runs that somebody names, those that they may know of: what is hidden is left out like what is not."""
    if not visit.rights.is_limited:
        return asked
    named = getattr(asked, "runs", ())
    runs = named.split(",") if isinstance(named, str) else named
    seen = [run for run in runs if visit.runs.has(run)]
    if isinstance(named, str):
        # Empty is all for some: what is left must name something, though nothing is called so.
        return msgspec.structs.replace(asked, runs=",".join(seen) or (NOBODYS if named else ""))
    return msgspec.structs.replace(asked, runs=seen)


def _check_every(visit: Visit, asked: msgspec.Struct) -> None:
    for run in getattr(asked, "runs", ()):
        if not visit.runs.has(run):
            raise NoRun(f"there is no run {run[:128]!r}: it was deleted, or it has not begun yet")


NOBODYS = "-"
"""No run can be called so."""


def _seen_project(visit: Visit, run: str) -> str | None:
    """The project of a run that they may know of; None for one that has no row yet. Raises NoRun."""
    project = _project_of(visit, run)
    rights = visit.rights
    if rights.is_limited and not (_is_own(visit, run) if project is None else rights.may_see(run, project)):
        raise NoRun(f"there is no run {run[:128]!r}: it was deleted, or it has not begun yet")
    return project


def _project_of(visit: Visit, run: str) -> str | None:
    """As its journals say; before they do, as its sender said."""
    project = visit.services.runs.project_of(run)
    owner = visit.services.arrivals.owner(run) if project is None else None
    return owner.project or None if owner is not None else project


def _is_own(visit: Visit, run: str) -> bool:
    owner = visit.services.arrivals.owner(run)
    return owner is not None and owner.user == visit.who.user and visit.rights.only is None


def _run_of(asked: msgspec.Struct) -> str:
    return str(asked.run)  # type: ignore[attr-defined]  # a test asserts that such routes have it


def _not_theirs(run: str, project: str) -> Refused:
    return Refused(
        403,
        f"you may not change the run {run[:128]!r}",
        why=f"the project {project[:100]!r} is read-only for those who are not its writers",
        do="ask an admin to name you as one",
    )
