"""What `holter server` says and changes about keys, users and projects; a running server sees it at once."""

import argparse
import os
import time
from typing import TYPE_CHECKING

import msgspec

from holter.cli.figures import clean, moment, size
from holter.cli.stdout import look, print_json
from holter.cli.table import Cell, Column, render
from holter.errors import UsageError

if TYPE_CHECKING:
    from holter.server.security.keys import Scope
    from holter.server.security.oidc import Identity
    from holter.server.security.rights import Bounds, ProjectRights, Role, UserKind

KINDS = {
    "open": "the team reads and writes",
    "read-only": "the team reads, its writers write",
    "private": "its members alone see it",
}
DAY_S = 86400.0
MOST_DAYS = 36_500
KEY_COLUMNS = tuple(map(Column, ("ID", "NAME", "USER", "SCOPE", "MADE", "LAST USE", "EXPIRES")))
USER_COLUMNS = tuple(map(Column, ("NAME", "SCOPE", "KIND", "MADE", "STATE")))
PROJECT_COLUMNS = tuple(map(Column, ("PROJECT", "KIND", "WRITERS", "READERS", "KEEPS")))
SHARE_COLUMNS = tuple(map(Column, ("ID", "RUNS", "BY", "MADE", "EXPIRES")))
ACT_COLUMNS = tuple(map(Column, ("AT", "USER", "ACT", "WHAT")))
PROJECT_COLUMNS = tuple(map(Column, ("PROJECT", "KIND", "WRITERS", "READERS", "KEPT", "QUOTA")))


def keys(args: argparse.Namespace, data: str) -> int:
    """List, add or revoke keys."""
    from holter.server.security.keyring import open_keys

    ring = open_keys(data)
    match args.words:
        case []:
            _list_keys(args, data)
        case ["add", name]:
            _check_user(args.user, data)
            if args.days is not None and not 0 < args.days < MOST_DAYS:
                raise UsageError(f"a key lasts for more than 0 and less than {MOST_DAYS:,} days, not {args.days:g}")
            scope: Scope = args.scope or "write"
            now = time.time()
            expires_at = now + args.days * DAY_S if args.days is not None else None
            key, text = ring.add(name, scope, now=now, user=args.user, expires_at=expires_at)
            _note(data, "key-made", name=name, scope=scope, user=args.user, made=key.id)
            if args.json:
                print_json({"id": key.id, "key": text})
            else:
                print(f"The key {key.id} with the scope {key.scope}; it is shown only once:\n\n    {text}\n")
        case ["revoke", id]:
            if not ring.revoke(id):
                raise UsageError(f"there is no key {id!r} in {data}: `holter server keys` lists them")
            _note(data, "key-revoked", id=id)
            print(f"The key {id} is revoked.")
        case _:
            raise UsageError("write `holter server keys`, `keys add NAME --scope read|write|admin` or `keys revoke ID`")
    return 0


def users(args: argparse.Namespace, data: str) -> int:
    """List, add, change, disable or enable users."""
    from holter.server.security.keyring import open_accounts

    accounts = open_accounts(data)
    match args.words:
        case []:
            _list_users(args, data)
            return 0
        case ["add", name]:
            kind: UserKind = "service" if args.service else "person"
            user = accounts.add_user(
                name, scope=args.scope or "write", kind=kind, now=time.time(), identity=_identity(args)
            )
            _note(data, "user-made", name=name, scope=user.scope, kind=user.kind)
            print(
                f"The user {name} with the scope {user.scope}; `holter server keys add KEY --user {name}` makes a key."
            )
        case ["set", name]:
            if args.scope is None:
                raise UsageError(f"say what {name} may do: `holter server users set {name} --scope read|write|admin`")
            user = accounts.change_user(name, scope=args.scope)
            _note(data, "user-changed", name=name, scope=user.scope)
            print(f"The user {user.name} has the scope {user.scope}.")
        case ["disable", name]:
            accounts.change_user(name, disabled_at=time.time())
            _note(data, "user-changed", name=name, is_disabled=True)
            print(f"The user {name} is disabled: none of their keys opens anything.")
        case ["enable", name]:
            accounts.change_user(name, disabled_at=0.0)
            _note(data, "user-changed", name=name, is_disabled=False)
            print(f"The user {name} may come in again.")
        case _:
            raise UsageError(
                "write `holter server users`, `users add|set NAME --scope …` or `users disable|enable NAME`"
            )
    return 0


def projects(args: argparse.Namespace, data: str) -> int:
    """List what was decided about projects, or decide."""
    from holter.server.security.keyring import open_accounts

    accounts = open_accounts(data)
    if not args.words:
        found = accounts.roll.projects
        if args.json:
            print_json({"projects": [_project_json(name, each) for name, each in sorted(found.items())]})
        else:
            rows = [_project_row(name, each) for name, each in sorted(found.items())]
            text = "Nothing was decided about any project: all are open to everybody with a key."
            print("\n".join(render(PROJECT_COLUMNS, rows, look=look())) if rows else text)
        return 0
    if len(args.words) > 1:
        raise UsageError(
            "write `holter server projects NAME --open|--read-only|--private --writer USER --reader USER --keep 90d`"
        )
    members: dict[str, Role | None] = dict.fromkeys(args.remove)
    members |= dict.fromkeys(args.reader, "reader")
    members |= dict.fromkeys(args.writer, "writer")
    name = args.words[0]
    changed = accounts.roll.project(name)
    bounds = _bounds(args, changed.bounds)
    if args.kind or members or bounds != changed.bounds:
        changed = accounts.change_project(name, kind=args.kind, members=members, bounds=bounds)
        _note(data, "rights-changed", **_project_json(name, changed))
    if args.json:
        print_json(_project_json(name, changed))
    else:
        print("\n".join(render(PROJECT_COLUMNS, [_project_row(name, changed)], look=look())))
    return 0


def shares(args: argparse.Namespace, data: str) -> int:
    """List links to runs, or make one worthless."""
    from holter.server.security.keyring import open_accounts

    accounts = open_accounts(data)
    match args.words:
        case []:
            found = list(accounts.roll.shares.values())
            if args.json:
                fields = ("id", "runs", "by", "made_at", "expires_at")
                print_json({"shares": [{field: getattr(share, field) for field in fields} for share in found]})
                return 0
            rows = [
                [
                    Cell(share.id),
                    Cell(", ".join(share.runs)),
                    Cell(clean(share.by)),
                    Cell(moment(share.made_at)),
                    Cell(_moment(share.expires_at, "never")),
                ]
                for share in found
            ]
            print("\n".join(render(SHARE_COLUMNS, rows, look=look())) if rows else "There are no links.")
        case ["revoke", id]:
            if id not in accounts.roll.shares:
                raise UsageError(f"there is no link {id!r} in {data}: `holter server shares` lists them")
            accounts.remove_share(id)
            _note(data, "link-revoked", id=id)
            print(f"The link {id} is revoked.")
        case _:
            raise UsageError("write `holter server shares` or `shares revoke ID`")
    return 0


def audit(args: argparse.Namespace, data: str) -> int:
    """Show what people did."""
    from holter.server.security.keyring import open_audit
    from holter.storage.places import choose_places, read_places

    if args.words:
        raise UsageError("write `holter server audit`, with --json for all of it as JSON")
    acts = open_audit(data, choose_places(read_places(data), f"sqlite:{data}")).acts()
    if args.json:
        fields = ("at", "user", "act", "key", "what")
        print_json({"acts": [{field: getattr(act, field) for field in fields} for act in acts]})
        return 0
    rows = [[Cell(moment(act.at)), Cell(clean(act.user)), Cell(act.act), Cell(clean(_named(act.what)))] for act in acts]
    print("\n".join(render(ACT_COLUMNS, rows, look=look())) if rows else "Nothing was done yet.")
    return 0


def _named(what: dict[str, object]) -> str:
    return ", ".join(f"{name} {value}" for name, value in what.items())


def _note(data: str, act: str, **what: object) -> None:
    from holter.catalog.change.user_name import user_name
    from holter.server.security.audit import Act
    from holter.server.security.keyring import open_audit

    named = {name: value for name, value in what.items() if value not in (None, "", {})}
    open_audit(data).note(Act(at=time.time(), user=user_name(), act=act, what=named))


def _list_keys(args: argparse.Namespace, data: str) -> None:
    from holter.server.security.keyring import SECRETS, open_keys
    from holter.server.security.last_use import NAME, read_last_use

    used = read_last_use(os.path.join(data, SECRETS, NAME))
    found = open_keys(data).all()
    if args.json:
        fields = ("id", "name", "scope", "made_at", "expires_at")
        print_json(
            {
                "keys": [
                    {
                        **{field: getattr(key, field) for field in fields},
                        "user": key.owner,
                        "last_used_at": used.get(key.id),
                    }
                    for key in found
                ]
            }
        )
        return
    rows = [
        [
            Cell(key.id),
            Cell(clean(key.name)),
            Cell(clean(key.owner)),
            Cell(key.scope),
            Cell(moment(key.made_at)),
            Cell(_moment(used.get(key.id), "never")),
            Cell(_moment(key.expires_at, "never")),
        ]
        for key in found
    ]
    print("\n".join(render(KEY_COLUMNS, rows, look=look())) if rows else "There are no keys yet.")


def _list_users(args: argparse.Namespace, data: str) -> None:
    from holter.server.security.keyring import open_accounts

    found = sorted(open_accounts(data).roll.users.values(), key=lambda user: (user.made_at, user.name))
    if args.json:
        fields = ("name", "scope", "kind", "made_at", "disabled_at")
        print_json({"users": [{field: getattr(user, field) for field in fields} for user in found]})
        return
    rows = [
        [
            Cell(user.name),
            Cell(user.scope),
            Cell(user.kind),
            Cell(moment(user.made_at)),
            Cell("may come in" if user.disabled_at is None else f"disabled {moment(user.disabled_at)}"),
        ]
        for user in found
    ]
    print(
        "\n".join(render(USER_COLUMNS, rows, look=look())) if rows else "There are no users: keys stand for themselves."
    )


def _bounds(args: argparse.Namespace, before: "Bounds") -> "Bounds":
    """What was decided before, with what the words of a command change of it. Raises UsageError."""
    from holter.cli.figures import parse_duration
    from holter.recording.settings import parse_bytes

    changed: dict[str, object] = {}
    if args.keep is not None:
        changed["keep_days"] = None if args.keep == "forever" else parse_duration(args.keep) / DAY_S
        changed["keeps_tagged"] = args.keep_tagged
    elif args.keep_tagged:
        if before.keep_days is None:
            raise UsageError("--keep-tagged needs --keep, such as --keep 90d: without it everything is kept")
        changed["keeps_tagged"] = True
    if args.quota is not None:
        changed["most_bytes"] = None if args.quota == "none" else parse_bytes(args.quota)
    return msgspec.structs.replace(before, **changed)


def _identity(args: argparse.Namespace) -> "Identity | None":
    from holter.server.security.oidc import Identity

    if not args.subject:
        return None
    issuer = args.issuer or os.environ.get("HOLTER_OIDC_ISSUER", "")
    if not issuer:
        raise UsageError("--subject needs --issuer, the address of the login server, or HOLTER_OIDC_ISSUER")
    return Identity(issuer, args.subject, "")


def _check_user(name: str, data: str) -> None:
    from holter.server.security.keyring import open_accounts

    if name and name not in open_accounts(data).roll.users:
        raise UsageError(f"there is no user {name!r} in {data}: `holter server users add {name}` makes one")


def _project_json(name: str, rights: "ProjectRights") -> dict[str, object]:
    bounds = {field: getattr(rights.bounds, field) for field in ("keep_days", "keeps_tagged", "most_bytes")}
    return {"project": name, "kind": rights.kind, "members": rights.members, **bounds}


def _project_row(name: str, rights: "ProjectRights") -> list[Cell]:
    roles = rights.members.items()
    named = [", ".join(user for user, each in roles if each == role) for role in ("writer", "reader")]
    days, most = rights.bounds.keep_days, rights.bounds.most_bytes
    kept = "forever" if days is None else f"{days:g} d{', tagged for good' if rights.bounds.keeps_tagged else ''}"
    quota = "" if most is None else size(most)
    return [Cell(clean(name)), Cell(rights.kind), *map(Cell, (*named, kept, quota))]


def _moment(at: float | None, otherwise: str) -> str:
    return moment(at) if at is not None else otherwise
