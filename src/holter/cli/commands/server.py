"""Serve the runs of many machines to those who have a key.

Clients send their runs here when HOLTER_URL is its address and HOLTER_API_KEY a key with the scope `write`. The first
start makes an admin key and shows it once. It speaks HTTP: put a reverse proxy with TLS in front of it for other hosts
(docs/server.md), name the proxy's host with --allow-host and its address with --proxy.

  holter server                      serve, on 127.0.0.1:4658 unless told otherwise
  holter server keys                 list the keys; `keys add NAME --scope read|write|admin`, `keys revoke ID`
  holter server users                list the users; `users add NAME`, `users set|disable|enable NAME`
  holter server projects             list what was decided about projects; `projects NAME --private --keep 90d`
  holter server shares               list the links that show runs to guests; `shares revoke ID`
  holter server audit                what people did: logins, keys, users, rights, deletions, marks, exports
  holter server backup DIRECTORY     copy everything to a new directory, or to s3://BUCKET/FOLDER, also while it runs
  holter server restore s3://BUCKET/FOLDER DIRECTORY
                                     bring such a copy back
  holter server migrate --from sqlite:DIRECTORY --to URL
                                     move everything to PostgreSQL, an object store or another disk; goes on if killed
  holter server rebuild              make the index again from the journals, while no server runs
  holter server check                look for bit rot, and compare the index with the journals; also while it runs
"""

import argparse
import contextlib
import os
import sys
from typing import TYPE_CHECKING

from msgspec import to_builtins

from holter.cli import accounts, migrating
from holter.cli.accounts import KINDS
from holter.cli.figures import clean, plural, size
from holter.cli.parser import add_json
from holter.cli.stdout import flush, print_json
from holter.errors import UsageError
from holter.journal.rundir import data_directory

if TYPE_CHECKING:
    from holter.storage.places import Places

GROUP = "look"

SERVING = ("host", "port", "allow_host", "proxy", "access_log")
STORED = {
    "runs": "what is known of each run",
    "series": "points; left out, where the runs are",
    "console": "what programs printed, and events; left out, where the series are",
    "blobs": "files",
    "settings": "what people set; left out, where the runs are",
    "media": "media and histograms; left out, where the runs are",
    "journals": "what was received; left out, the data directory",
    "sweeps": "the books of sweeps; left out, where the runs are if that is PostgreSQL, else the data directory",
}
"""The ports, each with an option for its URL."""
OPTIONS = {
    "serve": (*SERVING, *STORED),
    "rebuild": tuple(STORED),
    "check": tuple(STORED),
    "backup": tuple(STORED),
    "migrate": ("source", "to", *STORED),
    "keys": ("scope", "user", "days"),
    "users": ("scope", "service", "subject", "issuer"),
    "projects": ("kind", "reader", "writer", "keep", "keep_tagged", "quota", "remove"),
}
"""Which options an action has, beside `--data` and `--json`."""
ACTIONS = ("serve", "keys", "users", "projects", "shares", "audit", "backup", "restore", "migrate", "rebuild", "check")


def prepare_parser(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("action", nargs="?", choices=ACTIONS, default="serve", help="left out, it serves")
    parser.add_argument("words", nargs="*", metavar="…", help="what the action needs")
    parser.add_argument("--data", metavar="DIR", help="where everything is kept; left out, HOLTER_SERVER_DIR")
    parser.add_argument("--host", help="the address to listen on; left out, 127.0.0.1; 0.0.0.0 for all")
    parser.add_argument("--port", metavar="P", type=int, help="left out, 4658")
    parser.add_argument(
        "--allow-host", metavar="NAME", action="append", default=[], help="a name clients use for it; repeatable"
    )
    parser.add_argument(
        "--proxy",
        metavar="ADDRESS",
        action="append",
        default=[],
        help="a proxy before it, or a network of them: its X-Forwarded-For is believed, nobody else's; repeatable",
    )
    parser.add_argument("--access-log", metavar="FILE", help="write a line of JSON about each request, without secrets")
    places = parser.add_argument_group(
        "places", "URLs; without them all is in a directory of this machine. `holter-server.toml` takes them too"
    )
    for port, text in STORED.items():
        places.add_argument(f"--{port}", metavar="URL", help=text)
    parser.add_argument("--from", dest="source", metavar="sqlite:DIR", help="the data directory that is to be moved")
    parser.add_argument(
        "--to", metavar="URL", help="where it goes: postgresql://…, or sqlite:DIR for another directory"
    )
    parser.add_argument("--scope", choices=("read", "write", "admin"), help="of a key or user; a new one has write")
    parser.add_argument("--user", metavar="NAME", default="", help="whose a new key is; left out, it stands for itself")
    parser.add_argument("--days", metavar="N", type=float, help="how long a new key lasts; left out, until revoked")
    parser.add_argument("--service", action="store_true", help="a new user is no person, but a cluster or the like")
    parser.add_argument("--subject", metavar="SUB", help="who a new user is to the login server")
    parser.add_argument("--issuer", metavar="URL", help="that login server; left out, HOLTER_OIDC_ISSUER")
    kinds = parser.add_mutually_exclusive_group()
    for kind, text in KINDS.items():
        kinds.add_argument(f"--{kind}", dest="kind", action="store_const", const=kind, help=f"a project: {text}")
    for role in ("reader", "writer"):
        parser.add_argument(f"--{role}", metavar="USER", action="append", default=[], help=f"is a {role} of it")
    parser.add_argument("--keep", metavar="TIME", help="delete its runs that ended longer ago: 90d; `forever` for none")
    parser.add_argument("--keep-tagged", action="store_true", help="but not those with a tag")
    parser.add_argument("--quota", metavar="SIZE", help="with more it takes no new runs: 500GB; `none` for no bound")
    parser.add_argument("--remove", metavar="USER", action="append", default=[], help="has no role in it any more")
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Do what the action says."""
    _check_options(args)
    data = _data(args)
    actions = {
        "serve": _serve,
        "keys": accounts.keys,
        "users": accounts.users,
        "projects": accounts.projects,
        "shares": accounts.shares,
        "audit": accounts.audit,
        "backup": _backup,
        "restore": _restore,
        "migrate": migrating.migrate,
        "rebuild": _rebuild,
        "check": _check,
    }
    return actions[args.action](args, data)


def _check_options(args: argparse.Namespace) -> None:
    """An option that the action has no use for is a mistake, and not left aside."""
    for action, names in OPTIONS.items():
        given = [name for name in names if getattr(args, name) and name not in OPTIONS.get(args.action, ())]
        if given:
            option = {"kind": f"--{args.kind}", "source": "--from"}.get(given[0], f"--{given[0].replace('_', '-')}")
            form = "holter server" if action == "serve" else f"holter server {action}"
            raise UsageError(f"{option} is an option of `{form}`; `holter server --help` shows what each takes")


def _data(args: argparse.Namespace) -> str:
    chosen = args.data or os.environ.get("HOLTER_SERVER_DIR")
    if chosen:
        return os.path.abspath(os.path.expanduser(chosen))
    return os.path.join(data_directory(dict(os.environ)), "server")


def _places(args: argparse.Namespace, data: str) -> "Places":
    """Options before the file in the data directory."""
    from holter.server.ingest.index_place import index_directory
    from holter.storage.places import choose_places, read_places

    given = {port: url for port in STORED if (url := getattr(args, port))}
    return choose_places(read_places(data) | given, f"sqlite:{index_directory(data, os.environ)}")


def _serve(args: argparse.Namespace, data: str) -> int:
    _expect(args, 0, "holter server")
    from holter.server.team import Team, TeamSettings  # HTTP: only those pay for it who serve

    settings = TeamSettings(
        host=args.host or "127.0.0.1",
        port=args.port,
        allowed_hosts=args.allow_host,
        proxies=args.proxy,
        access_log=os.path.abspath(args.access_log) if args.access_log else "",
        places=_places(args, data),
    )
    with Team(data, os.environ, settings=settings) as team:
        if team.was_damaged:
            print(f"holter: {team.was_damaged}; it is being made again", file=sys.stderr)

        def tell() -> None:
            print(f"Holter serves {data} at {team.address}")
            if team.first_key:
                print(f"\nThe first key, with the scope admin; it is shown only once:\n\n    {team.first_key}\n")
            flush()

        team.serve(tell)
    return 0


def _backup(args: argparse.Namespace, data: str) -> int:
    _expect(args, 1, "holter server backup DIRECTORY, or s3://BUCKET/FOLDER")
    from holter.server.migration.backup import make_backup
    from holter.server.migration.backup_places import is_bucket

    [target] = args.words

    def complain(text: str) -> None:
        print(f"holter: {text}", file=sys.stderr)

    copied = make_backup(data, target, environ=os.environ, places=_places(args, data), complain=complain)
    if is_bucket(target):
        print(f"{size(copied)} copied to {target}; `holter server restore {target} DIRECTORY` brings them back.")
    else:
        print(f"{size(copied)} copied to {target}; `holter server --data {target}` serves the copy.")
    return 0


def _restore(args: argparse.Namespace, data: str) -> int:
    _expect(args, 2, "holter server restore s3://BUCKET/FOLDER DIRECTORY")
    from holter.server.migration.backup_places import is_bucket, restore

    source, target = args.words
    if not is_bucket(source):
        raise UsageError(f"a backup in a directory needs no restoring: `holter server --data {source}` serves it")
    restored = restore(source, target)
    print(f"{size(restored)} restored to {target}; `holter server --data {target}` serves them.")
    return 0


def _rebuild(args: argparse.Namespace, data: str) -> int:
    _expect(args, 0, "holter server rebuild")
    from holter.model.clock import Clock
    from holter.model.state import read_lateness
    from holter.server.ingest.rebuilding import rebuild
    from holter.server.process.instance import claim_index

    claim = claim_index(data, os.environ)
    try:
        rebuilt = rebuild(data, _places(args, data), clock=Clock(), lateness=read_lateness(os.environ))
    finally:
        claim.close()
    for name, reason in rebuilt.unreadable.items():
        print(f"holter: run {name}: {reason}", file=sys.stderr)
    print(f"The index of {plural(rebuilt.runs, 'run')} in {data} is new.")
    return 0


def _check(args: argparse.Namespace, data: str) -> int:
    _expect(args, 0, "holter server check")
    from holter.model.state import read_lateness
    from holter.server.domain.checking import Check
    from holter.server.ingest.copies import all_copies
    from holter.storage.opening import open_storage

    if not os.path.isdir(data):
        raise UsageError(f"there is no data directory {data} to check")
    places = _places(args, data)
    with all_copies(data, places), contextlib.closing(open_storage(places)) as storage:
        check = Check(data, storage, lateness=read_lateness(os.environ))
        found = list(check.run_all())
    checked = check.checked
    if args.json:
        print_json({"findings": [to_builtins(each) for each in found], "checked": to_builtins(checked)})
        return int(bool(found))
    for each in found:
        print(f"{each.run}: {clean(each.what)}; {each.do}")
    read = f"{plural(checked.runs, 'run')} read ({size(checked.journal_bytes)}), {plural(checked.files, 'file')}"
    result = plural(len(found), "finding") if found else "all well"
    print(f"{read}, {plural(checked.compared, 'run')} compared with the index: {result}")
    return int(bool(found))


def _expect(args: argparse.Namespace, count: int, form: str) -> None:
    if len(args.words) != count:
        raise UsageError(f"write `{form}`; `holter server --help` shows what it takes")
