"""Show all about one run.

State, configuration, summary, host, processes, alerts, what was lost or damaged, and where the files are.
"""

import argparse
import time
from collections.abc import Sequence
from typing import Any

import msgspec

from holter.catalog.damage import Damage, find_damage
from holter.catalog.run_view import LoadedRun
from holter.cli.choice import load_chosen
from holter.cli.figures import clean
from holter.cli.parser import add_json, add_run
from holter.cli.report import headline, render, sections
from holter.cli.stdout import look, print_json
from holter.journal.rundir import used_bytes
from holter.model.records import Alerted, Exited, Lost, Noted

GROUP = "look"


def prepare_parser(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    add_run(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Print the run."""
    loaded = load_chosen(args.run)
    damage = find_damage(loaded)
    used = used_bytes(loaded.view.directory)
    if args.json:
        print_json(_as_json(loaded, damage, used))
        return 0
    seen = look()
    print(f"{seen.paint(clean(loaded.view.name), 'bold')}  {headline(loaded, seen)}")
    print("\n".join(render(sections(loaded, damage, used_bytes=used, now=time.time()), seen)))
    return 0


def _as_json(loaded: LoadedRun, damage: Sequence[Damage], used: int, /) -> dict[str, Any]:
    outcome = loaded.outcome
    return {
        **msgspec.structs.asdict(loaded.view),
        "because": outcome.because,
        "exit_status": outcome.status,
        "exit_source": outcome.source or None,
        "facts": loaded.facts,
        "processes": [{**msgspec.to_builtins(each.opened), "rows": each.rows} for each in loaded.digests],
        "exits": loaded.said(Exited),
        "alerts": loaded.said(Alerted),
        "noted": loaded.said(Noted),
        "lost": loaded.said(Lost),
        "damage": damage,
        "unknown_records": sum(each.unknown for each in loaded.digests),
        "used_bytes": used,
    }
