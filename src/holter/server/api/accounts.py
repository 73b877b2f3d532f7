"""Users, what they may do with projects, and who may send to somebody else's run."""

from typing import Annotated

import msgspec

from holter.server.security.keys import Scope
from holter.server.security.rights import Bounds, ProjectKind, ProjectRights, Role, User, UserKind
from holter.server.transport.routing import Nothing, Route, Visit

UserName = Annotated[str, msgspec.Meta(min_length=1, max_length=100)]
ProjectName = Annotated[str, msgspec.Meta(max_length=1024)]


class UserJson(msgspec.Struct, frozen=True):
    """A user; none of their keys may do more than their scope."""

    name: str
    scope: Scope
    kind: UserKind
    made_at: float
    is_disabled: bool


class UsersJson(msgspec.Struct, frozen=True):
    """The oldest first."""

    users: list[UserJson]


class NewUser(msgspec.Struct, frozen=True, kw_only=True):
    """A person, or a service such as a cluster's account."""

    name: UserName
    scope: Scope = "write"
    kind: UserKind = "person"


class ChangedUser(msgspec.Struct, frozen=True, kw_only=True):
    """What is left out stays."""

    name: UserName
    scope: Scope | None = None
    is_disabled: bool | None = None


class ProjectJson(msgspec.Struct, frozen=True):
    """How a project is open to the team, and who has a role in it."""

    project: str
    kind: ProjectKind
    members: dict[str, Role]
    bounds: Bounds


class ProjectsJson(msgspec.Struct, frozen=True):
    """By name; projects of which nothing was decided are open, and left out."""

    projects: list[ProjectJson]


class ChangedProject(msgspec.Struct, frozen=True, kw_only=True):
    """What is left out stays; the role null takes a member out."""

    project: ProjectName
    kind: ProjectKind | None = None
    members: dict[UserName, Role | None] = {}
    bounds: Bounds | None = None
    """All of them at once: what is left out of it has no bound."""


class AskedSender(msgspec.Struct, frozen=True, kw_only=True):
    """A run, and a user who may send to it beside its owner, or may no more."""

    run: str
    user: UserName


class Senders(msgspec.Struct, frozen=True):
    """All users who may send to a run beside its owner."""

    users: tuple[str, ...]


def list_users(visit: Visit, asked: Nothing) -> UsersJson:
    """All users"""
    users = visit.services.access.accounts.roll.users.values()
    return UsersJson([_user(each) for each in sorted(users, key=lambda each: (each.made_at, each.name))])


def add_user(visit: Visit, asked: NewUser) -> UserJson:
    """Make a user"""
    accounts = visit.services.access.accounts
    return _user(accounts.add_user(asked.name, scope=asked.scope, kind=asked.kind, now=visit.services.now()))


def change_user(visit: Visit, asked: ChangedUser) -> UserJson:
    """Give a user another scope, or let them in no more: their keys and live streams end at once"""
    disabled_at = None if asked.is_disabled is None else visit.services.now() * asked.is_disabled
    changed = visit.services.access.accounts.change_user(asked.name, scope=asked.scope, disabled_at=disabled_at)
    visit.services.changes.end_unwelcome()
    return _user(changed)


def list_rights(visit: Visit, asked: Nothing) -> ProjectsJson:
    """The projects of which something was decided"""
    return ProjectsJson(
        [_project(name, each) for name, each in sorted(visit.services.access.accounts.roll.projects.items())]
    )


def change_rights(visit: Visit, asked: ChangedProject) -> ProjectJson:
    """Open or close a project, and give people roles in it"""
    changed = visit.services.access.accounts.change_project(
        asked.project, kind=asked.kind, members=asked.members, bounds=asked.bounds
    )
    return _project(asked.project, changed)


def let_in(visit: Visit, asked: AskedSender) -> Senders:
    """Let a user send to somebody else's run; idempotent"""
    return Senders(visit.services.access.accounts.grant(asked.run, asked.user))


def let_out(visit: Visit, asked: AskedSender) -> Senders:
    """Let a user send to somebody else's run no more; idempotent"""
    return Senders(visit.services.access.accounts.grant(asked.run, asked.user, is_in=False))


def _user(user: User) -> UserJson:
    return UserJson(user.name, user.scope, user.kind, user.made_at, user.disabled_at is not None)


def _project(name: str, rights: ProjectRights) -> ProjectJson:
    return ProjectJson(name, rights.kind, rights.members, rights.bounds)


ROUTES = [
    Route(method="GET", path="/users", touches="server", answer=list_users, result=UsersJson, needs="admin"),
    Route(
        method="POST",
        path="/users",
        touches="server",
        act="user-made",
        answer=add_user,
        asked=NewUser,
        result=UserJson,
        needs="admin",
        body="json",
    ),
    Route(
        method="PATCH",
        path="/users/{name}",
        touches="server",
        act="user-changed",
        answer=change_user,
        asked=ChangedUser,
        result=UserJson,
        needs="admin",
        body="json",
    ),
    Route(method="GET", path="/rights", touches="server", answer=list_rights, result=ProjectsJson, needs="admin"),
    Route(
        method="PATCH",
        path="/rights/{project:path}",
        touches="server",
        act="rights-changed",
        answer=change_rights,
        asked=ChangedProject,
        result=ProjectJson,
        needs="admin",
        body="json",
    ),
    Route(
        method="PUT",
        path="/runs/{run}/senders/{user}",
        touches="own run",
        act="sender-let-in",
        answer=let_in,
        asked=AskedSender,
        result=Senders,
        needs="write",
        body="json",
    ),
    Route(
        method="DELETE",
        path="/runs/{run}/senders/{user}",
        touches="own run",
        act="sender-let-out",
        answer=let_out,
        asked=AskedSender,
        result=Senders,
        needs="write",
    ),
]
