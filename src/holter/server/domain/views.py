"""Views of a project's workspace: named ones, of a person or of the team, and how each person has it at the moment."""

import secrets
import string

import msgspec

from holter.errors import Refused
from holter.storage.settings import Changes, Sets, SettingStore

MOST_VIEWS = 100
MOST_COLOURS = 2000
TEAM = "team"
"""The owner of the views that all who see the project have."""
_LETTERS = string.ascii_lowercase + string.digits
Edits = dict[str, str]
"""By setting, its text; empty where the view has it and the person took it away."""


class View(msgspec.Struct, frozen=True, kw_only=True):
    """A workspace that somebody saved under a name: settings as they stand in the page's address."""

    id: str
    name: str
    is_team: bool
    by: str
    settings: dict[str, str]


class Workspace(msgspec.Struct, frozen=True, kw_only=True):
    """All that one person has of a project."""

    view: str | None = None
    """The one they look at: empty for none, None where they have not chosen."""
    default: str = ""
    """The team's, for who has not chosen; empty for none."""
    views: list[View] = []
    colours: dict[str, int] = {}
    """Of groups of runs, for all who see the project: slots of the palette."""
    edits: dict[str, Edits] = {}
    """By view, empty for none: what they changed and have not saved."""


class ProjectViews:
    """What one person sees and changes of a project's views. Whether they may is asked elsewhere."""

    def __init__(self, store: SettingStore, *, project: str, user: str) -> None:
        self._store = store
        self._project = project
        self._user = user

    def load(self) -> Workspace:
        """As it is now."""
        mine, team = self._sets(is_team=False), self._sets(is_team=True)
        found = {view.id: view for view in (*_views(mine, is_team=False), *_views(team, is_team=True))}
        views = sorted(found.values(), key=lambda view: (view.name.lower(), view.id))
        kept = {name.removeprefix(_EDITS): texts for name, texts in mine.items() if name.startswith(_EDITS)}
        chosen = mine.get(_NOW, {}).get("view")
        default = team.get(_NOW, {}).get("view", "")
        return Workspace(
            view=chosen if chosen == "" or chosen in found else None,
            default=default if default in found else "",
            views=views,
            colours={name: int(slot) for name, slot in team.get(_COLOURS, {}).items()},
            edits={view: texts for view, texts in kept.items() if texts and (view == "" or view in found)},
        )

    def find(self, view: str) -> View:
        """One of them. Raises Refused."""
        for each in self.load().views:
            if each.id == view:
                return each
        raise Refused(
            404, f"there is no view {view[:100]!r}", why="somebody has deleted it", do="save it as a new view"
        )

    def keep(self, view: str | None, edits: dict[str, dict[str, str | None]]) -> None:
        """Remember which view they look at, and what they changed in some; None is as a view has it. Raises Refused."""
        known = {"", *(each.id for each in self.load().views)}
        for name in (*edits, view or ""):
            if name not in known:
                self.find(name)
        gone = [
            name for name in self._sets(is_team=False) if name.startswith(_EDITS) and name[len(_EDITS) :] not in known
        ]
        changes: dict[str, dict[str, str | None] | None] = {f"{_EDITS}{name}": texts for name, texts in edits.items()}
        self._merge({**dict.fromkeys(gone), **changes, **({_NOW: {"view": view}} if view is not None else {})})

    def paint(self, colours: dict[str, int]) -> None:
        """Give colours to groups that have none yet, as long as there is room for more."""
        known = self._sets(is_team=True).get(_COLOURS, {})
        new = {name: str(slot) for name, slot in colours.items() if name not in known}
        if new and len(known) + len(new) <= MOST_COLOURS:
            self._merge({_COLOURS: {**new}}, is_team=True)

    def add(self, name: str, settings: dict[str, str], *, is_team: bool) -> View:
        """Save a view under a name; two may have the same. Raises Refused."""
        if len(self._sets(is_team=is_team).get(_NAMES, {})) >= MOST_VIEWS:
            raise Refused(
                409,
                f"there are {MOST_VIEWS} views already",
                why=f"a {'team' if is_team else 'person'} has at most so many in a project",
                do="delete some that nobody needs",
            )
        view = View(
            id="".join(secrets.choice(_LETTERS) for _ in range(8)),
            name=name,
            is_team=is_team,
            by=self._user,
            settings=settings,
        )
        self._put(view)
        return view

    def change(self, view: View, *, name: str | None, settings: dict[str, str | None]) -> None:
        """Give a view another name, and other texts to some of its settings."""
        changes: dict[str, dict[str, str | None] | None] = {f"{_VIEW}{view.id}": settings}
        if name is not None:
            changes[_NAMES] = {view.id: name}
        self._merge(changes, is_team=view.is_team)

    def move(self, view: View, *, is_team: bool) -> None:
        """Make a view the team's, or one's own."""
        self._put(msgspec.structs.replace(view, is_team=is_team, by=self._user))
        self._drop(view)

    def remove(self, view: View) -> None:
        """Delete a view."""
        self._drop(view)
        self._merge({f"{_EDITS}{view.id}": None})

    def set_default(self, view: str) -> None:
        """Have those who have not chosen see a team's view; empty for none."""
        self._merge({_NOW: {"view": view}}, is_team=True)

    def _put(self, view: View) -> None:
        names: dict[str, str | None] = {view.id: view.name}
        by: dict[str, str | None] = {view.id: view.by}
        self._merge({_NAMES: names, _BY: by, f"{_VIEW}{view.id}": {**view.settings}}, is_team=view.is_team)

    def _drop(self, view: View) -> None:
        nothing: dict[str, str | None] = {view.id: None}
        self._merge({_NAMES: nothing, _BY: nothing, f"{_VIEW}{view.id}": None}, is_team=view.is_team)

    def _sets(self, *, is_team: bool) -> Sets:
        return self._store.get(self._project, self._owner(is_team))

    def _merge(self, changes: Changes, *, is_team: bool = False) -> None:
        self._store.merge(self._project, self._owner(is_team), changes=changes)

    def _owner(self, is_team: bool) -> str:
        return TEAM if is_team else f"user {self._user}"


# The names of sets. The team's `now` is the default of the project.
_NOW, _NAMES, _BY, _COLOURS, _VIEW, _EDITS = "now", "names", "by", "colours", "view ", "edits "


def _views(sets: Sets, *, is_team: bool) -> list[View]:
    by = sets.get(_BY, {})
    return [
        View(id=view, name=name, is_team=is_team, by=by.get(view, ""), settings=sets.get(f"{_VIEW}{view}", {}))
        for view, name in sets.get(_NAMES, {}).items()
    ]
