"""The warnings of a run's guards, for `holter show`."""

import time
from collections.abc import Iterable

from holter.catalog.read.warnings_of import warnings_of
from holter.cli.figures import clean
from holter.journal.digest import Digest

MOST_SHOWN = 20


def warning_lines(digests: Iterable[Digest]) -> list[str]:
    """The newest, a line for each."""
    found = warnings_of(digests)
    left = [f"… and {len(found) - MOST_SHOWN} before these"] if len(found) > MOST_SHOWN else []
    shown = [
        f"{time.strftime('%H:%M:%S', time.localtime(each.at))}  {each.guard}  {clean(each.text)}"
        for each in found[-MOST_SHOWN:]
    ]
    return [*left, *shown]
