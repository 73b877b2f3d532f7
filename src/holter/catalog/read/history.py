"""The rows of a run that count: without what it abandoned, and with those of the run that it was forked from."""

import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from holter.catalog.read.loaded_run import PROGRAM, read_digests
from holter.journal.digest import Digest
from holter.journal.rewinding import cut_of, fork_of, rewinds_of
from holter.journal.rundir import list_segments, run_directory

if TYPE_CHECKING:
    from holter.journal.columns import Tables
    from holter.model.records import Opened

_MOST_GENERATIONS = 100


def read_history(
    directory: str, digests: Sequence[Digest], *, data: str, writers: Sequence[str] = PROGRAM
) -> "Iterator[tuple[Opened, Tables]]":
    """The rows of each journal, and those of programs whose history the run goes on from; these lie in `data`.

    A run that is not there any more leaves its part out. Raises NewerJournal, OSError.
    """
    most: int | None = None
    for _ in range(_MOST_GENERATIONS):
        yield from _read(directory, digests, most, writers)
        if (parent := fork_of(digests)) is None or not os.path.isdir(directory := run_directory(data, parent.run)):
            return
        most = parent.step if most is None else min(parent.step, most)
        digests, writers = read_digests(directory), PROGRAM


def _read(
    directory: str, digests: Sequence[Digest], most: int | None, writers: Sequence[str]
) -> "Iterator[tuple[Opened, Tables]]":
    from holter.journal.columns import read_tables, tables_up_to  # numpy: a tenth of a second that few commands pay

    segments, rewinds = list_segments(directory), rewinds_of(digests)
    for each in sorted(digests, key=lambda found: found.journal):
        if each.opened.writer in writers and each.journal in segments:
            cuts = [cut_of(each.opened.attempt, rewinds), most] if each.opened.writer in PROGRAM else []
            cut = min((cut for cut in cuts if cut is not None), default=None)
            yield each.opened, tables_up_to(read_tables(segments[each.journal]), cut)
