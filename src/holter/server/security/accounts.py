"""The users of a server and what was decided about projects: one small file, beside the keys."""

import os
import re
import secrets
import threading
from collections.abc import Callable, Sequence

import msgspec

from holter.errors import UsageError
from holter.journal.kept_files import replace_for_good
from holter.server.security.keys import Scope, digest
from holter.server.security.oidc import Identity
from holter.server.security.private_files import Alone, locked
from holter.server.security.rights import Bounds, ProjectKind, ProjectRights, Role, Roll, Share, User, UserKind

MOST_USERS = 10_000
MOST_SHARES = 10_000
SHARE = "hs"
"""What the text of a link begins with, as that of a key does with `hk`."""
USER_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@+-]{0,99}")
_NO_NAME = re.compile(r"[^A-Za-z0-9._@+-]+")

_decode = msgspec.json.Decoder(Roll).decode


class Accounts:
    """What one file says. Thread-safe; other processes may change it, which is seen with the next look."""

    def __init__(self, path: str, *, alone: Alone = locked) -> None:
        self._path = path
        self._alone = alone
        self._lock = threading.Lock()
        self._stamp = (0, 0)
        self._roll = Roll()

    @property
    def roll(self) -> Roll:
        """All of it, as it is now. Raises OSError, UsageError."""
        try:
            status = os.stat(self._path)
        except FileNotFoundError:
            return Roll()
        stamp = (status.st_mtime_ns, status.st_ino)
        with self._lock:
            if stamp != self._stamp:
                with open(self._path, "rb") as file:
                    try:
                        self._roll = _decode(file.read())
                    except msgspec.MsgspecError as error:
                        raise UsageError(f"{self._path} can't be read as people ({error}): restore it") from error
                self._stamp = stamp
            return self._roll

    def add_user(
        self, name: str, *, scope: Scope, kind: UserKind = "person", now: float, identity: Identity | None = None
    ) -> User:
        """Make a user; with an identity they may log in at the login server. Raises UsageError, OSError."""
        if USER_NAME.fullmatch(name) is None:
            raise UsageError(
                f"a user's name has 1 to 100 of A-Z a-z 0-9 . _ @ + -, a letter or digit first, not {name[:40]!r}"
            )
        user = User(name=name, scope=scope, kind=kind, made_at=now)
        if identity is not None:
            user = msgspec.structs.replace(user, issuer=identity.issuer, subject=identity.subject)

        def add(roll: Roll) -> Roll:
            if name in roll.users:
                raise UsageError(f"there is a user {name} already")
            if (known := roll.user_of(user.issuer, user.subject)) is not None:
                raise UsageError(f"that login is the user {known.name} already")
            if len(roll.users) >= MOST_USERS:
                raise UsageError(f"there are {MOST_USERS:,} users already")
            return msgspec.structs.replace(roll, users={**roll.users, name: user})

        self._change(add)
        return user

    def add_identity(
        self, identity: Identity, *, scope: Scope, now: float, is_taken: Callable[[str], bool] = lambda name: False
    ) -> User:
        """Make a user for somebody who comes for the first time. Raises UsageError, OSError.

        Their name is as near as possible to the one that they like, but one that stands for nobody yet: a name proves
        nothing.
        """
        wanted = _NO_NAME.sub("-", identity.name).lstrip("._@+-")[:90] or "user"
        known = self.roll.names
        name, number = wanted, 2
        while name in known or is_taken(name):
            name, number = f"{wanted}-{number}", number + 1
        return self.add_user(name, scope=scope, now=now, identity=identity)

    def change_user(self, name: str, *, scope: Scope | None = None, disabled_at: float | None = None) -> User:
        """Give a user another scope, or let them in no more: `disabled_at` is when, 0 lets them in again.

        Raises UsageError where there is no such user, OSError.
        """
        changed: list[User] = []

        def change(roll: Roll) -> Roll:
            user = _found(roll, name)
            if scope is not None:
                user = msgspec.structs.replace(user, scope=scope)
            if disabled_at is not None:
                user = msgspec.structs.replace(user, disabled_at=disabled_at or None)
            changed.append(user)
            return msgspec.structs.replace(roll, users={**roll.users, name: user})

        self._change(change)
        return changed[0]

    def change_project(
        self,
        name: str,
        *,
        kind: ProjectKind | None = None,
        members: dict[str, Role | None] | None = None,
        bounds: Bounds | None = None,
    ) -> ProjectRights:
        """Open or close a project, give people roles in it, or take them with None, and bound it. What is None stays.

        Raises UsageError, OSError.
        """
        changed: list[ProjectRights] = []
        if bounds is not None and bounds.keep_days is not None and not bounds.keep_days >= 1:
            raise UsageError(f"runs are kept for a day at least, not for {bounds.keep_days:g}: what is deleted is gone")
        if bounds is not None and bounds.most_bytes is not None and bounds.most_bytes < 0:
            raise UsageError(f"a quota is a number of bytes, not {bounds.most_bytes}")

        def change(roll: Roll) -> Roll:
            before = roll.project(name)
            roles = {**before.members, **(members or {})}
            after = ProjectRights(
                kind=kind or before.kind,
                members={user: role for user, role in roles.items() if role is not None},
                bounds=bounds or before.bounds,
            )
            changed.append(after)
            projects = {each: rights for each, rights in roll.projects.items() if each != name}
            if after != ProjectRights():
                projects[name] = after
            return msgspec.structs.replace(roll, projects=projects)

        self._change(change)
        return changed[0]

    def grant(self, run: str, user: str, *, is_in: bool = True) -> tuple[str, ...]:
        """Let a user send to a run that is somebody else's, or do so no more. Returns all who may. Raises OSError."""
        changed: list[tuple[str, ...]] = []

        def change(roll: Roll) -> Roll:
            users = [each for each in roll.grants.get(run, ()) if each != user] + ([user] if is_in else [])
            changed.append(tuple(users))
            grants = {each: names for each, names in roll.grants.items() if each != run}
            return msgspec.structs.replace(roll, grants={**grants, run: tuple(users)} if users else grants)

        self._change(change)
        return changed[0]

    def add_share(self, runs: Sequence[str], *, by: str, now: float, expires_at: float | None) -> tuple[Share, str]:
        """Make a link to some runs; returns it with the text that opens it, which nobody can see again.

        Raises UsageError, OSError.
        """
        secret = secrets.token_urlsafe(32)
        share = Share(
            id=secrets.token_hex(4),
            digest=digest(secret),
            runs=tuple(runs),
            by=by,
            made_at=now,
            expires_at=expires_at,
        )

        def add(roll: Roll) -> Roll:
            kept = {name: each for name, each in roll.shares.items() if not each.has_expired(now)}
            if len(kept) >= MOST_SHARES:
                raise UsageError(f"there are {MOST_SHARES:,} links already: revoke some that nobody uses")
            return msgspec.structs.replace(roll, shares={**kept, share.id: share})

        self._change(add)
        return share, f"{SHARE}_{share.id}_{secret}"

    def remove_share(self, id: str) -> None:  # noqa: A002  the word that users see
        """Make a link worthless. Idempotent. Raises OSError."""

        def remove(roll: Roll) -> Roll:
            return msgspec.structs.replace(
                roll, shares={name: each for name, each in roll.shares.items() if name != id}
            )

        self._change(remove)

    def _change(self, change: Callable[[Roll], Roll]) -> None:
        with self._alone(self._path):
            replace_for_good(self._path, msgspec.json.format(msgspec.json.encode(change(self.roll))))


def _found(roll: Roll, name: str) -> User:
    if (user := roll.users.get(name)) is None:
        raise UsageError(f"there is no user {name[:100]!r}: `holter server users` lists them")
    return user
