"""Views of a project's workspace, and how each person has it at the moment."""

from typing import Annotated

import msgspec

from holter.errors import Refused
from holter.model.run_row import COLOURS
from holter.server.domain.views import ProjectViews, View, Workspace
from holter.server.transport.routing import Nothing, Route, Visit

CHANGED = "views"
"""The kind of what the live stream says when something of this changed."""
Name = Annotated[str, msgspec.Meta(min_length=1, max_length=100, pattern=r"\S")]
Project = Annotated[str, msgspec.Meta(max_length=256)]
Id = Annotated[str, msgspec.Meta(max_length=100)]
Key = Annotated[str, msgspec.Meta(min_length=1, max_length=100)]
Text = Annotated[str, msgspec.Meta(max_length=50_000)]
MANY = msgspec.Meta(max_length=500)
Settings = Annotated[dict[Key, Text], MANY]
SomeSettings = Annotated[dict[Key, Text | None], MANY]


class AskedViews(msgspec.Struct, frozen=True, kw_only=True):
    """Of one project."""

    project: Project


class ViewsJson(Workspace, frozen=True, kw_only=True):
    """All that somebody has of a project; nothing of one that they don't see."""

    project: str
    may_keep: bool
    """Whether what they change is kept: for everybody but who came by a link."""
    may_share: bool
    """Whether they may change the team's views, and the default."""
    seq: int
    """The number of the newest live change before anybody looked: an answer with a lower one is older."""


class KeptJson(msgspec.Struct, frozen=True, kw_only=True):
    """What somebody looks at, and what they changed: only what is named changes, null is as the view has it."""

    project: Project
    view: Id | None = None
    edits: Annotated[dict[Id, SomeSettings], msgspec.Meta(max_length=100)] = {}
    colours: Annotated[dict[Key, Annotated[int, msgspec.Meta(ge=0, lt=COLOURS)]], MANY] = {}
    """Slots of the palette for groups of runs, by who may change the project; those that have one keep it."""


class NewView(msgspec.Struct, frozen=True, kw_only=True):
    """Settings as they stand in the page's address, and a name for them."""

    project: Project
    name: Name
    settings: Settings
    is_team: bool = False


class ChangedView(msgspec.Struct, frozen=True, kw_only=True):
    """What is left out stays; of the settings only those that are named change, null removes one."""

    id: Id
    project: Project
    name: Name | None = None
    settings: SomeSettings = {}
    is_team: bool | None = None
    is_default: bool | None = None


class AskedView(msgspec.Struct, frozen=True, kw_only=True):
    """One view."""

    id: Id
    project: Project


def list_views(visit: Visit, asked: AskedViews) -> ViewsJson:
    """Somebody's own views of a project, the team's, and what they changed of them without saving it"""
    visit.services.changes.refresh()
    seq = visit.services.changes.seq
    # Whoever came by a link is nobody in particular.
    may_keep = visit.rights.only is None and asked.project in visit.runs.projects()
    workspace = _views(visit, asked.project).load() if may_keep else Workspace()
    return ViewsJson(
        project=asked.project,
        may_keep=may_keep,
        may_share=may_keep and visit.rights.may_change(asked.project),
        seq=seq,
        **msgspec.structs.asdict(workspace),
    )


def keep_workspace(visit: Visit, asked: KeptJson) -> ViewsJson:
    """Remember which view somebody looks at, and what they changed of it: the later change of a setting holds"""
    views = _views(visit, asked.project)
    if asked.view is not None or asked.edits or not asked.colours:
        views.keep(asked.view, asked.edits)
        _tell(visit, asked.project, is_team=False)
    if asked.colours and visit.rights.may_change(asked.project):
        views.paint(asked.colours)
    return list_views(visit, AskedViews(project=asked.project))


def add_view(visit: Visit, asked: NewView) -> View:
    """Save a view under a name"""
    views = _views(visit, asked.project, is_team=asked.is_team)
    view = views.add(asked.name.strip(), asked.settings, is_team=asked.is_team)
    _tell(visit, asked.project, is_team=asked.is_team)
    return view


def change_view(visit: Visit, asked: ChangedView) -> View:
    """Save changes to a view, rename it, make it the team's or one's own again, or the project's default"""
    views = _views(visit, asked.project)
    view = views.find(asked.id)
    is_of_team = view.is_team or bool(asked.is_team) or asked.is_default is not None
    _views(visit, asked.project, is_team=is_of_team)
    is_team = view.is_team if asked.is_team is None else asked.is_team
    if asked.is_default and not is_team:
        raise Refused(
            409, f"{view.name!r} is your own view", why="only a team's can be the default", do="share it first"
        )
    views.change(view, name=asked.name and asked.name.strip(), settings=asked.settings)
    if is_team != view.is_team:
        views.move(views.find(asked.id), is_team=is_team)
    if asked.is_default is not None:
        views.set_default(view.id if asked.is_default else "")
    _tell(visit, asked.project, is_team=is_of_team)
    return views.find(asked.id)


def remove_view(visit: Visit, asked: AskedView) -> Nothing:
    """Delete a view"""
    views = _views(visit, asked.project)
    view = views.find(asked.id)
    _views(visit, asked.project, is_team=view.is_team).remove(view)
    _tell(visit, asked.project, is_team=view.is_team)
    return Nothing()


def _views(visit: Visit, project: str, *, is_team: bool = False) -> ProjectViews:
    """Those that they see; with `is_team` for who may change the team's. Raises Refused."""
    if visit.rights.only is not None:
        raise Refused(403, "a link shows runs, and keeps no views", do="use a key")
    if project not in visit.runs.projects():
        raise Refused(
            404, f"there is no project {project[:100]!r}", why="it has no runs", do="look at the list of projects"
        )
    if is_team and not visit.rights.may_change(project):
        raise Refused(
            403,
            f"you may not change the team's views of {project[:100]!r}",
            why="those who may change its runs may do this",
            do="save a view of your own, or ask an admin to name you as a writer",
        )
    return ProjectViews(visit.services.storage.settings, project=project, user=visit.who.user)


def _tell(visit: Visit, project: str, *, is_team: bool) -> None:
    user = None if is_team else visit.who.user
    visit.services.changes.note(CHANGED, "", project=project, data={"project": project}, user=user)
    if is_team:
        visit.note("view-changed", project=project)


ROUTES = [
    Route(method="GET", path="/views", touches="listing", answer=list_views, asked=AskedViews, result=ViewsJson),
    Route(
        method="PATCH",
        path="/views",
        touches="listing",
        answer=keep_workspace,
        asked=KeptJson,
        result=ViewsJson,
        body="json",
    ),
    Route(method="POST", path="/views", touches="listing", answer=add_view, asked=NewView, result=View, body="json"),
    Route(
        method="PATCH",
        path="/views/{id}",
        touches="listing",
        answer=change_view,
        asked=ChangedView,
        result=View,
        body="json",
    ),
    Route(method="DELETE", path="/views/{id}", touches="listing", answer=remove_view, asked=AskedView),
]
