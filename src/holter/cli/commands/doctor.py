"""Tell what holter can and can't learn about a death on this machine, and how to let it learn more.

Looks at the witnesses as a run that starts here and now would have them: who can read an exit status, the signals, the
memory counters, the Linux kernel log, the GPUs; and at the place where runs are kept.
"""

import argparse
import textwrap

import msgspec

from holter.cli.examination import Finding, examine
from holter.cli.figures import clean
from holter.cli.parser import add_json
from holter.cli.stdout import NO_WIDTH, Look, look, print_json

GROUP = "explain"

WIDEST = 100


def prepare_parser(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Print what was found; 1 where runs can't be kept."""
    found = examine()
    if args.json:
        print_json({"witnesses": [msgspec.to_builtins(each) for each in found]})
    else:
        print("\n".join(line for each in found for line in _lines(each, look())))
    return 0 if all(each.is_there for each in found if each.name == "runs") else 1


def _lines(found: Finding, seen: Look) -> list[str]:
    mark = seen.mark("finished" if found.is_there else "failed")
    painted = seen.paint(mark, "green" if found.is_there else "yellow")
    width = WIDEST if seen.width == NO_WIDTH else min(seen.width, WIDEST)
    text = textwrap.wrap(clean(found.text), max(width - 20, 30), break_on_hyphens=False)
    remedy = textwrap.wrap(f"-> {clean(found.remedy)}", max(width - 20, 30)) if found.remedy else []
    head, *rest = [*text, *remedy]
    return [f"{painted} {found.name:<16}  {head}", *(f"{'':20}{line}" for line in rest)]
