"""List the causes that holter knows, or explain one of them.

A rule is a cause of death: how it is recognised, what it means, and what helps. Those marked as contributing are never
the cause alone.
"""

import argparse
import textwrap
from collections.abc import Sequence
from typing import Any

from holter.cli.figures import clean
from holter.cli.parser import add_json
from holter.cli.rules_page import rules_page
from holter.cli.stdout import NO_WIDTH, Look, look, print_json
from holter.cli.table import Cell, Column, render
from holter.cli.verdict_text import WIDEST, plain
from holter.diagnosis.loading import Rule, find_rule, load_rules

GROUP = "explain"
WHAT_NEXT = (
    "`holter rules CAUSE` explains one, with what helps.",
    "`holter mark RUN --cause CAUSE --reason TEXT` says that a run died of it, where holter says otherwise.",
)


def prepare_parser(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("cause", metavar="CAUSE", nargs="?", help="explain this one, with what helps")
    add_json(parser)
    parser.add_argument("--markdown", action="store_true", help="print the page of all causes for the documentation")


def run(args: argparse.Namespace) -> int:
    """Print the rules."""
    chosen = [find_rule(args.cause)] if args.cause is not None else load_rules()
    if args.json:
        print_json({"rules": [_as_json(rule) for rule in chosen]})
    elif args.markdown:
        print(rules_page(chosen), end="")
    else:
        seen = look()
        lines = _explained(chosen[0], seen) if args.cause else _listed(chosen, seen)
        print("\n".join(plain(line, seen) for line in lines))
    return 0


def _as_json(rule: Rule) -> dict[str, Any]:
    return {
        "cause": rule.cause,
        "explanation": rule.explanation,
        "remedy": rule.remedy,
        "contributes": rule.contributes,
        "module": rule.module,
    }


def _listed(rules: Sequence[Rule], seen: Look) -> list[str]:
    columns = (Column("CAUSE"), Column("WHAT HAPPENED", least=20))
    rows = [[Cell(rule.cause, "bold"), Cell(clean(rule.in_short))] for rule in rules]
    return [*render(columns, rows, look=seen), "", *WHAT_NEXT]


def _explained(rule: Rule, seen: Look) -> list[str]:
    kind = "  (contributes to others, never the cause alone)" if rule.contributes else ""
    lines = [f"{seen.paint(rule.cause, 'bold')}{kind}"]
    for paragraph in (*rule.explanation.split("\n\n"), rule.remedy):
        lines += ["", *_wrapped(paragraph, seen)]
    return lines


def _wrapped(text: str, seen: Look) -> list[str]:
    text = " ".join(text.split())
    return [text] if seen.width == NO_WIDTH else textwrap.wrap(text, min(seen.width, WIDEST), break_on_hyphens=False)
