"""Make runs of what other trackers kept: holter import wandb|tensorboard|mlflow|neptune|csv PATH.

A run that was imported before stays as it is, so a repeat does no harm; --again makes it anew. What had no place in a
run, and what could not be read, is said for each.
"""

import argparse
import contextlib
import importlib
import os
import sys
from collections.abc import Iterator
from typing import Any

import msgspec

from holter.cli.figures import plural
from holter.errors import HolterError
from holter.importing import sources
from holter.importing.imported_run import ImportedRun, Source
from holter.lean import modules_in
from holter.recording.settings import read_settings

GROUP = "keep"


def prepare_parser(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("kind", metavar="TRACKER", choices=modules_in(sources), help=", ".join(modules_in(sources)))
    parser.add_argument("path", metavar="PATH", nargs="+", help="a file or a folder with many runs")
    parser.add_argument("--project", metavar="P", help="put them into this project")
    parser.add_argument("--again", action="store_true", help="also what was imported before: it is made anew")
    parser.add_argument("--json", action="store_true", help="one JSON document")


def run(args: argparse.Namespace) -> int:
    """Import one after the other; one that can't be read does not keep the others from it."""
    module = importlib.import_module(f"holter.importing.sources.{args.kind}")
    data = read_settings({}, os.environ).dir
    told = [
        _import(source, data, project=args.project, is_again=args.again)
        for path in args.path
        for source in module.find_runs(path)
    ]
    if args.json:
        print(msgspec.json.encode(told).decode())
    else:
        for each in told:
            print(_sentence(each))
        if len(told) > 1:
            print(f"{plural(sum(each['state'] == 'imported' for each in told), 'run')} of {len(told)} imported.")
    return 1 if any(each["state"] == "failed" for each in told) else 0


def _import(source: Source, data: str, *, project: str | None, is_again: bool) -> dict[str, Any]:
    origin = source.origin
    if project:
        origin = msgspec.structs.replace(origin, project=project)
    told: dict[str, Any] = {"run": origin.run, "project": origin.project, "name": origin.name, "from": origin.identity}
    if not is_again and ImportedRun.is_there(data, origin):
        return {**told, "state": "known"}
    try:
        with ImportedRun(data, origin) as run, _progress(origin.name) as show:
            for done in source.read_into(run):
                show(done, source.size_bytes)
            run.keep(replaces=is_again)
            return {
                **told,
                "state": "imported",
                "rows": run.rows,
                "files": run.files,
                "left_out": dict(run.left_out),
                "trouble": run.trouble,
            }
    except (HolterError, OSError) as error:
        return {**told, "state": "failed", "because": str(error)}


@contextlib.contextmanager
def _progress(name: str) -> Iterator[Any]:
    """On a terminal: how far it is."""
    is_shown = sys.stderr is not None and sys.stderr.isatty()
    shown = -1

    def show(done: int, total: int) -> None:
        nonlocal shown
        percent = min(100, 100 * done // max(total, 1))
        if is_shown and percent != shown:
            shown = percent
            print(f"\r\x1b[K{name[:50]} {'█' * (percent // 5):<20} {percent} %", end="", file=sys.stderr, flush=True)

    try:
        yield show
    finally:
        if is_shown:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def _sentence(told: dict[str, Any]) -> str:
    called = f"{told['project']}/{told['name']}"
    if told["state"] == "known":
        return f"{told['run']}  {called}: imported before"
    if told["state"] == "failed":
        return f"{told['run']}  {called}: not imported: {told['because']}"
    files = f", {plural(told['files'], 'file')}" if told["files"] else ""
    lines = [f"{told['run']}  {called}: {plural(told['rows'], 'row')}{files}"]
    if told["left_out"]:
        lines.append("  no place for " + ", ".join(f"{count:,} {what}" for what, count in told["left_out"].items()))
    lines += [f"  {text}" for text in told["trouble"][:10]]
    if len(told["trouble"]) > 10:
        lines.append(f"  … and {len(told['trouble']) - 10} more remarks; `holter show {told['run']}` has them")
    return "\n".join(lines)
