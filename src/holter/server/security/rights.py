"""Who may see and change what: users, projects and who was let into which. Pure."""

from typing import Literal

import msgspec

from holter.server.security.keys import SCOPES, Scope

ProjectKind = Literal["open", "read-only", "private"]
"""Open: the team reads and writes. Read-only: the team reads, writers write. Private: members alone know that it is."""
Role = Literal["reader", "writer"]
UserKind = Literal["person", "service"]


class User(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Somebody who may have keys: a person, or a service such as a cluster's account."""

    name: str
    scope: Scope = "write"
    """None of their keys may do more."""
    kind: UserKind = "person"
    made_at: float = 0.0
    disabled_at: float | None = None
    issuer: str = ""
    subject: str = ""
    """Who they are to the server that logs them in; an address of theirs may change, these two do not."""


class Bounds(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How long and how much is kept of a project; None for no bound."""

    keep_days: float | None = None
    """Runs that ended longer ago are deleted."""
    keeps_tagged: bool = False
    """But not those that have a tag."""
    most_bytes: int | None = None
    """With more it takes no new runs; those that are being sent go on."""


class ProjectRights(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How a project is open to the team, who has a role in it by name, and for how long its runs are kept."""

    kind: ProjectKind = "open"
    members: dict[str, Role] = {}
    bounds: Bounds = Bounds()


class Share(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A link that shows some runs to whoever has it, as long as the one who made it may see them."""

    id: str
    digest: str
    """The SHA-256 of its secret half."""
    runs: tuple[str, ...]
    by: str
    made_at: float
    expires_at: float | None = None

    def has_expired(self, now: float) -> bool:
        """Whether it is worthless by now."""
        return self.expires_at is not None and now >= self.expires_at


class Roll(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """All that was decided about people. What is not in it is as it was without: every key for itself, all open."""

    users: dict[str, User] = {}
    projects: dict[str, ProjectRights] = {}
    grants: dict[str, tuple[str, ...]] = {}
    """By run, the users who may send to it beside its owner."""
    shares: dict[str, Share] = {}
    """By id."""

    def scope_of(self, user: str, scope: Scope) -> Scope | None:
        """What somebody may do with a key of a scope; None where they may not come in any more."""
        known = self.users.get(user)
        if known is None:
            return scope
        return None if known.disabled_at is not None else min(scope, known.scope, key=SCOPES.index)

    @property
    def names(self) -> set[str]:
        """All names that stand for somebody."""
        members = {name for each in self.projects.values() for name in each.members}
        guests = {name for names in self.grants.values() for name in names}
        return {*self.users, *members, *guests, *(share.by for share in self.shares.values())}

    def user_of(self, issuer: str, subject: str) -> User | None:
        """The user whom a login server knows by a subject; None where there is none."""
        found = (each for each in self.users.values() if each.subject == subject and each.issuer == issuer)
        return next(found, None) if issuer and subject else None

    def project(self, name: str) -> ProjectRights:
        """An open one where nothing was decided."""
        return self.projects.get(name, _OPEN)

    def rights(self, user: str, scope: str) -> "Rights":
        """What somebody with that scope may do."""
        if scope == "admin":
            return Rights(user=user, scope=scope, roll=self)
        hidden = [name for name, each in self.projects.items() if each.kind == "private" and user not in each.members]
        return Rights(user=user, scope=scope, roll=self, hidden=frozenset(hidden))


_OPEN = ProjectRights()


class Rights(msgspec.Struct, frozen=True, kw_only=True):
    """What one user may do at this moment."""

    user: str
    scope: str
    roll: Roll
    hidden: frozenset[str] = frozenset()
    """Projects that are as good as not there."""
    only: frozenset[str] | None = None
    """The runs that are there at all, for who came by a link; None for all."""

    @property
    def is_admin(self) -> bool:
        """Admins may do everything."""
        return self.scope == "admin"

    @property
    def is_limited(self) -> bool:
        """Whether there is something that they may not know of."""
        return bool(self.hidden) or self.only is not None

    def may_see(self, run: str, project: str) -> bool:
        """Whether they may know that a run of a project exists."""
        return project not in self.hidden and (self.only is None or run in self.only)

    def may_change(self, project: str) -> bool:
        """Whether they may send runs to a project, and rename, mark and stop those in it."""
        if self.is_admin:
            return True
        rights = self.roll.project(project)
        return self.scope == "write" and (rights.kind == "open" or self._is_writer(rights))

    def may_own(self, project: str, *, owner: str | None) -> bool:
        """Whether they may delete a run and let others into it: its owner may, and the named writers of its project."""
        if self.is_admin:
            return True
        is_theirs = owner is None or owner == self.user
        return self.may_change(project) and (is_theirs or self._is_writer(self.roll.project(project)))

    def may_send(self, run: str) -> bool:
        """Whether they were let into somebody else's run."""
        return self.user in self.roll.grants.get(run, ())

    def _is_writer(self, rights: ProjectRights) -> bool:
        return rights.members.get(self.user) == "writer"
