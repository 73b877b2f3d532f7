"""Show everything about one run.

State, configuration, summary, host, processes, where it was when it died, alerts, what was lost or damaged, and where
the files are. --files lists the files of the run's directory, --file prints one of them as it is, --cells lists the
cells of a notebook.
"""

import argparse
import time
from collections.abc import Sequence
from typing import Any

import msgspec

from holter.catalog.read import going_on
from holter.catalog.read.cells import read_cells
from holter.catalog.read.damage import Damage, find_damage
from holter.catalog.read.loaded_run import LoadedRun
from holter.catalog.read.media import lost_media
from holter.catalog.read.spent_by import cost, peaks
from holter.catalog.read.warnings_of import warnings_of
from holter.cli.cells_view import print_cells
from holter.cli.choice import load_chosen
from holter.cli.console_view import console_lines
from holter.cli.figures import age, clean, size
from holter.cli.going_on_text import kept_lines
from holter.cli.parser import add_json, add_run
from holter.cli.report import Section, headline, render, sections
from holter.cli.run_files import RunFile, list_files, print_file
from holter.cli.stdout import look, print_json
from holter.cli.table import Cell, Column
from holter.cli.table import render as render_table
from holter.cli.verdict_text import plain
from holter.journal.rundir import used_bytes
from holter.model.records import Alerted, Console, Exited, Lost, Noted

GROUP = "look"


def prepare_parser(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    add_run(parser)
    add_json(parser)
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--files", action="store_true", help="list the run's files instead")
    what.add_argument("--cells", action="store_true", help="list the cells that a notebook ran instead")
    what.add_argument("--file", metavar="NAME", help="print one of the run's files instead, byte by byte")


def run(args: argparse.Namespace) -> int:
    """Print the run."""
    loaded = load_chosen(args.run)
    if args.file is not None:
        print_file(loaded.row.directory, args.file)
        return 0
    if args.files:
        _print_files(list_files(loaded.row.directory), as_json=args.json)
        return 0
    if args.cells:
        print_cells(read_cells(loaded.row.directory), as_json=args.json)
        return 0
    damage = find_damage(loaded)
    used = used_bytes(loaded.row.directory)
    if args.json:
        way = going_on.as_json(going_on.way_on(loaded))
        print_json(_as_json(loaded, damage, used) | ({"checkpoint": way} if way else {}))
        return 0
    seen = look()
    print(f"{seen.paint(clean(loaded.row.name), 'bold')}  {headline(loaded, seen)}")
    console = console_lines(loaded)
    found = sections(loaded, damage, used_bytes=used, now=time.time(), console=console)
    found += [Section(title, lines) for title, lines in kept_lines(loaded).items() if lines]
    print("\n".join(plain(line, seen) for line in render(found, seen)))
    return 0


def _print_files(found: Sequence[RunFile], *, as_json: bool) -> None:
    if as_json:
        print_json({"files": found})
        return
    now = time.time()
    rows = [[Cell(size(each.bytes)), Cell(age(now - each.changed_at)), Cell(clean(each.name))] for each in found]
    columns = [Column("SIZE", is_right=True), Column("CHANGED", is_right=True), Column("NAME")]
    print("\n".join(render_table(columns, rows, look=look())))


def _as_json(loaded: LoadedRun, damage: Sequence[Damage], used: int, /) -> dict[str, Any]:
    outcome = loaded.outcome
    return {
        **loaded.row.told(),
        "because": outcome.because,
        "fork": loaded.row.fork,
        "rewinds": [{"attempt": number, "step": step} for number, step in sorted(loaded.row.rewinds.items())],
        "title": loaded.diagnosis.title if loaded.diagnosis else None,
        "confidence": loaded.diagnosis.confidence if loaded.diagnosis else None,
        "exit_status": outcome.status,
        "exit_source": outcome.source or None,
        "facts": loaded.facts,
        "processes": [{**msgspec.to_builtins(each.opened), "rows": each.rows} for each in loaded.digests],
        "exits": loaded.said(Exited),
        "alerts": loaded.said(Alerted),
        "warnings": warnings_of(loaded.digests),
        "console": loaded.said(Console),
        "noted": loaded.said(Noted),
        "lost": loaded.said(Lost),
        "lost_media": lost_media(loaded.row.directory),
        "damage": damage,
        "unknown_records": sum(each.unknown for each in loaded.digests),
        "used_bytes": used,
        "peaks": peaks(loaded.digests),
        "cost": cost(loaded.digests),
    }
