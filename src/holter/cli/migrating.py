"""`holter server migrate`: what is asked for, and how far it is."""

import argparse
import contextlib
import os
import sys
import time
from typing import TYPE_CHECKING

from msgspec import to_builtins

from holter.cli.figures import clean, duration, plural, size
from holter.cli.stdout import print_json
from holter.errors import UsageError

if TYPE_CHECKING:
    from holter.server.migration.migration import Migrated, ServerData

FORM = "holter server migrate --from sqlite:DIRECTORY --to URL"
EVERY_S = 2.0


class Progress:
    """Says on stderr how far it is: once in a while, and where something is done."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._said = 0.0

    def tell(self, part: str, done: int, total: int, /) -> None:
        """So many runs of all are done."""
        now = time.monotonic()
        if done in (0, total) or now - self._said >= EVERY_S:
            self._said = now
            took = duration(now - self._began)
            print(f"holter: {part}: {done:,} of {plural(total, 'run')}, {took}", file=sys.stderr, flush=True)


def migrate(args: argparse.Namespace, data: str) -> int:
    """Move a server's data."""
    if args.words or not args.source or not args.to:
        raise UsageError(f"write `{FORM}`; `holter server --help` shows what it takes")
    source = _source(args.source)
    target = _target(args, source)
    from holter.model.state import read_lateness
    from holter.server.migration.migration import Migration
    from holter.server.process.instance import claim_index

    with contextlib.ExitStack() as claimed:
        for directory in dict.fromkeys((source.directory, target.directory)):
            claim = claim_index(directory, os.environ)
            claimed.callback(claim.close)
        migration = Migration(source, target, lateness=read_lateness(os.environ), tell=Progress().tell)
        done = migration.run_all()
    return _say(args, done, target)


def _say(args: argparse.Namespace, done: "Migrated", target: "ServerData") -> int:
    for name, why in done.left.items():
        print(f"holter: {clean(name)} stays where it is: {clean(why)}", file=sys.stderr)
    if args.json:
        print_json(to_builtins(done))
        return int(bool(done.left))
    moved = f"{plural(done.runs, 'run')} ({size(done.journal_bytes)}), {plural(done.files, 'file')}"
    others = f"{plural(done.settings, 'set')} of settings, {plural(done.sweeps, 'sweep')}"
    print(f"Moved, read again and found equal: {moved}, {others}, {plural(done.artifacts, 'artifact')}.")
    print(f"`holter server --data {target.directory}` serves them from there.")
    return int(bool(done.left))


def _source(url: str) -> "ServerData":
    from holter.server.ingest.index_place import index_directory
    from holter.server.migration.migration import ServerData
    from holter.storage.places import choose_places, read_places

    directory = _directory(url, "--from")
    if os.path.exists(os.path.join(directory, "runs.db")):
        raise UsageError(
            f"{directory} is an index: --from takes the data directory with it, sqlite:{os.path.dirname(directory)}"
        )
    if not any(os.path.isdir(os.path.join(directory, name)) for name in ("runs", "access", "index")):
        raise UsageError(f"there is no data directory {directory}: --from takes the one that `holter server` had")
    default = f"sqlite:{index_directory(directory, os.environ)}"
    return ServerData(directory, choose_places(read_places(directory), default), default)


def _target(args: argparse.Namespace, source: "ServerData") -> "ServerData":
    from holter.server.ingest.index_place import index_directory
    from holter.server.migration.logbook import Logbook
    from holter.server.migration.migration import ServerData
    from holter.storage.opening import load_engine
    from holter.storage.places import NAMES, choose_places

    given = {port: url for port in NAMES if (url := getattr(args, port))}
    chosen = os.path.abspath(os.path.expanduser(args.data)) if args.data else source.directory
    if args.to.startswith("sqlite:"):
        if args.data:
            raise UsageError(f"--to {args.to} names a data directory already: leave --data out")
        chosen = _directory(args.to, "--to")
    else:
        given = {"runs": args.to} | given
        if hasattr(load_engine(args.to), "open_papers"):
            given = {"journals": args.to} | given
    default = f"sqlite:{index_directory(chosen, os.environ)}"
    target = ServerData(chosen, choose_places(given, default), default)
    if target.directory == source.directory and target.places == source.places:
        Logbook(target.directory).close()  # what was killed in its last moment
        raise UsageError(f"{source.directory} keeps everything there already: there is nothing to move")
    return target


def _directory(url: str, option: str) -> str:
    scheme, _, path = url.partition(":")
    if scheme != "sqlite" or not path:
        raise UsageError(f"{option} takes a data directory as sqlite:DIRECTORY, not {url.rpartition('@')[2]!r}")
    return os.path.abspath(os.path.expanduser(path))
