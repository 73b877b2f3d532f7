"""`holter why --wrong`: deaths of which people say that the verdict is wrong, for those who mend the rules."""

import sys
from collections.abc import Sequence

import msgspec

from holter.catalog.judge.gathering import gather
from holter.catalog.judge.inquiry import inquire
from holter.catalog.present.wrong_verdicts import wrong_verdict
from holter.cli.choice import open_catalog
from holter.cli.figures import clean, plural
from holter.errors import UsageError

WHAT_IS_IN_IT = (
    "it holds what the programs printed last, exceptions, command lines, and memory and disks at their ends; left out "
    "are secrets, settings that are no numbers, and names of people and machines as far as they are known"
)
WHERE_TO = (
    "read it, then attach it to an issue of holter's, or make a zoo case of it: "
    "CONTRIBUTING.md, From a wrong verdict to a zoo case"
)


def export_wrong(wanted: Sequence[str]) -> int:
    """Print a line of JSON for each, of these runs or of all; what it is goes to stderr. Raises UsageError."""
    catalog = open_catalog()
    among = {catalog.find(name) for name in wanted}
    runs = catalog.rows(among or None)
    marks = {row.id: row.cause_mark for row in runs if row.cause_mark is not None}
    if unmarked := sorted(among - set(marks)):
        do = f"`holter mark {unmarked[0]} --cause CAUSE --reason TEXT` does"
        raise UsageError(f"nobody has said that the verdict on {', '.join(unmarked)} is wrong: {do}")
    for run, mark in marks.items():
        loaded = inquire(catalog.load(run))
        found = wrong_verdict(loaded, gather(loaded), mark=mark)
        print(msgspec.json.encode(found).decode())
        _tell(f"{loaded.row.name} ({run}): holter says {found.verdict.cause or 'no cause'}; {mark.words}")
    if not marks:
        _tell(f"nobody has said of a run in {catalog.data} that its verdict is wrong: `holter mark RUN --cause` does")
        return 0
    _tell(f"{plural(len(marks), 'death')} exported, of the runs in {catalog.data}; {WHAT_IS_IN_IT}")
    _tell(WHERE_TO)
    return 0


def _tell(text: str) -> None:
    print(f"holter: {clean(text)}", file=sys.stderr)
