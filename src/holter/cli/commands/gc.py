"""Remove runs by age, size and state; never one that runs.

--state says which runs may go at all; of those, --older-than removes the ones that ended longer ago, and --keep-size
then the oldest until all runs together fit. With --state alone all runs in that state go. A run stays if it is running,
if its end is not certain, or if it changed within the last minute. On a terminal the command asks before it removes
anything.
"""

import argparse
import sys
import time
from typing import Any

import msgspec

from holter.catalog.catalog import Catalog
from holter.catalog.change.deletions import delete_run
from holter.catalog.change.removal import Candidate, Choice, Criteria, choose, protection
from holter.catalog.change.trash import Trash, weigh
from holter.catalog.change.user_name import user_name
from holter.cli.choice import open_catalog
from holter.cli.figures import began, clean, parse_duration, plural, size
from holter.cli.parser import add_json
from holter.cli.stdout import look, print_json, state_colour
from holter.cli.table import Cell, Column, render
from holter.errors import JournalError, NoRun, UsageError
from holter.model.state import RUNNING, STATES
from holter.recording.settings import parse_bytes

GROUP = "keep"

DEAD = tuple(state for state in STATES if state != RUNNING)
COLUMNS = (
    Column("STATE"),
    Column("NAME", least=12),
    Column("ID", least=8),
    Column("PROJECT", least=8),
    Column("ENDED", is_right=True),
    Column("SIZE", is_right=True),
)


def prepare_parser(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("--older-than", metavar="TIME", help="runs that ended longer ago: 12h, 30d, 8w")
    parser.add_argument("--keep-size", metavar="SIZE", help="the oldest runs until the rest fits: 500MB, 10GB")
    parser.add_argument(
        "--state", choices=DEAD, action="append", default=[], help="only runs in this state; repeatable"
    )
    parser.add_argument("--dry-run", action="store_true", help="only say what would go")
    parser.add_argument("--yes", action="store_true", help="do not ask")
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Choose, ask, remove."""
    catalog = open_catalog()
    criteria = _criteria(args)
    candidates = _candidates(catalog)
    if criteria.is_empty:
        raise UsageError(_explanation(candidates, catalog.data))
    if not args.dry_run:
        Trash(catalog.data).empty()  # what an earlier removal left when it was interrupted
    choice = choose(candidates, criteria, now=time.time())
    if not args.json:
        _print_choice(choice)
    if not choice.removed or args.dry_run:
        return _report(choice.removed, choice=choice, failures={}, args=args)
    if not args.yes and not _is_confirmed(choice, is_json=args.json):
        print("Nothing was removed.")
        return 1
    removed, failures = _remove(choice.removed, catalog)
    return _report(removed, choice=choice, failures=failures, args=args)


def _criteria(args: argparse.Namespace) -> Criteria:
    return Criteria(
        older_than_s=parse_duration(args.older_than) if args.older_than is not None else None,
        keep_bytes=parse_bytes(args.keep_size) if args.keep_size is not None else None,
        states=args.state,
    )


def _candidates(catalog: Catalog) -> list[Candidate]:
    found = []
    for row in catalog.rows():
        try:
            found.append(weigh(row, is_settled=row.id in catalog.settled))
        except OSError as error:  # it vanished, or it is somebody else's
            print(f"holter: {row.directory} is left alone: {error.strerror}", file=sys.stderr)
    return found


def _remove(chosen: list[Candidate], catalog: Catalog) -> tuple[list[Candidate], dict[str, str]]:
    """Returns what went, and by id why something else did not."""
    removed: list[Candidate] = []
    failures: dict[str, str] = {}
    for each in chosen:
        try:
            # Time has passed since the choice: somebody may have continued the run. That we look at it does not count.
            touched_at = weigh(each.row, is_settled=each.is_settled).touched_at
            loaded = catalog.load(each.row.id, patience_s=0.0)
            weighed = weigh(loaded.row, is_settled=loaded.is_settled)
            again = msgspec.structs.replace(weighed, touched_at=touched_at)
            if because := protection(again, time.time()):
                failures[each.row.id] = because
                continue
            delete_run(catalog.data, each.row.id, by=user_name())
            removed.append(each)
        except OSError as error:
            failures[each.row.id] = error.strerror or str(error)
        except (JournalError, NoRun) as error:
            failures[each.row.id] = str(error)
    return removed, failures


def _is_confirmed(choice: Choice, *, is_json: bool) -> bool:
    if is_json or not (sys.stdin and sys.stdin.isatty() and sys.stdout and sys.stdout.isatty()):
        raise UsageError(
            "there is no terminal to ask on: add --yes to remove these runs, or --dry-run to only list them"
        )
    try:
        return input(f"Remove {plural(len(choice.removed), 'run')} for good? [y/N] ").strip().lower() in ("y", "yes")
    except EOFError:
        return False


def _print_choice(choice: Choice) -> None:
    seen = look()
    now = time.time()
    rows = [
        [
            Cell(f"{seen.mark(each.row.state)} {each.row.state}", state_colour(each.row.state)),
            Cell(clean(each.row.name)),
            Cell(each.row.id, "dim"),
            Cell(clean(each.row.project)),
            Cell(began(each.ended_at, now)),
            Cell(size(each.bytes)),
        ]
        for each in choice.removed
    ]
    if rows:
        print("\n".join(render(COLUMNS, rows, look=seen)))
    for each, because in choice.kept:
        print(f"{clean(each.row.name)} ({each.row.id}) stays: {because}")


def _report(removed: list[Candidate], *, choice: Choice, failures: dict[str, str], args: argparse.Namespace) -> int:
    total = sum(each.bytes for each in removed)
    for run, because in failures.items():
        print(f"holter: {run} was not removed: {because}", file=sys.stderr)
    if args.json:
        print_json(_as_json(removed, choice, failures) | {"freed_bytes": total, "dry_run": args.dry_run})
    elif not removed:
        print("Nothing to remove." if not failures else "Nothing was removed.")
    else:
        would = "would be " if args.dry_run else ""
        print(f"{plural(len(removed), 'run')} {would}removed, {size(total)} {would}freed.")
    return 1 if failures else 0


def _as_json(removed: list[Candidate], choice: Choice, failures: dict[str, str], /) -> dict[str, Any]:
    kept = {each.row.id: because for each, because in choice.kept}
    fields = ("id", "name", "project", "state", "started_at", "ended_at")
    return {
        "removed": [{field: getattr(each.row, field) for field in fields} | {"bytes": each.bytes} for each in removed],
        "kept": [{"id": run, "because": because} for run, because in {**kept, **failures}.items()],
    }


def _explanation(candidates: list[Candidate], place: str) -> str:
    total = size(sum(each.bytes for each in candidates))
    return (
        f"{plural(len(candidates), 'run')} in {place} take {total}; say which may go: --older-than 30d, "
        "--keep-size 10GB, --state crashed; --dry-run only lists them"
    )
