"""Forgets the records of notebooks' kernels that nobody will ask for any more. Runs of metrics are never touched."""

import contextlib
import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from holter.journal.decoding import decode_control
from holter.journal.frame import HEADER_SIZE
from holter.journal.reader import hop
from holter.journal.rundir import list_segments, run_directory
from holter.model.records import KERNEL, NUMBERS, Described
from holter.model.state import FINISHED, RUNNING

if TYPE_CHECKING:
    from holter.model.run_row import RunRow

MOST_RECENT = 50
RECENT_S = 14 * 86_400.0
MOST_DEAD = 500
# Who wrote a journal and what it is about stand at its beginning.
FIRST_WORDS_BYTES = 2048


def prune_beside(directory: str, *, now: float) -> list[str]:
    """Prune where a run lies that has just ended, if it was the record of a kernel; see `prune_kernels`."""
    runs, run = os.path.split(directory)
    if os.path.basename(runs) != "runs" or not _is_kernel(os.path.join(runs, run)):
        return []
    return prune_kernels(os.path.dirname(runs), now=now)


def prune_kernels(data: str, *, now: float) -> list[str]:
    """Remove records of kernels: of those that are not recent all that ended well, and of the deaths the oldest.

    Returns the ids of what went. Idempotent, and several processes may do it at once; what can't be read stays.
    """
    spare = _not_recent(data, now)
    if not spare:
        return []
    from holter.catalog.catalog import Catalog  # every sidecar asks at its end, and few have something to remove
    from holter.catalog.change.removal import protection
    from holter.catalog.change.trash import Trash, weigh

    catalog = Catalog(data)
    removed = []
    for row in choose_kernels(catalog.rows(among=spare)):
        with contextlib.suppress(OSError):  # somebody else was quicker, or it is somebody else's
            if not protection(weigh(row, is_settled=row.id in catalog.settled), now):
                Trash(data).remove(row.id)  # nobody has to remember it: such a record is never sent anywhere
                removed.append(row.id)
    return removed


def choose_kernels(rows: "Sequence[RunRow]") -> "list[RunRow]":
    """Which of these may go, the newest being first. Pure."""
    kernels = [each for each in rows if each.kind == KERNEL and each.state != RUNNING and not _is_dear(each)]
    dead = [each for each in kernels if each.state != FINISHED]
    return [each for each in kernels if each.state == FINISHED] + dead[MOST_DEAD:]


def _is_dear(row: "RunRow") -> bool:
    """Somebody has logged into it, or written something on it."""
    return bool(row.rows or row.notes or row.tags)


def _not_recent(data: str, now: float) -> set[str]:
    """The records of kernels beyond the newest, or older than recent ones may be."""
    kernels = sorted(
        ((changed, run) for run, changed in _runs(data) if _is_kernel(run_directory(data, run))), reverse=True
    )
    return {run for at, (changed, run) in enumerate(kernels) if at >= MOST_RECENT or now - changed > RECENT_S}


def _runs(data: str) -> Iterator[tuple[str, float]]:
    """Each run, and when its directory last changed."""
    with contextlib.suppress(OSError), os.scandir(os.path.join(data, "runs")) as entries:
        for entry in entries:
            if not entry.name.startswith("."):
                yield entry.name, entry.stat(follow_symlinks=False).st_mtime


def _is_kernel(directory: str) -> bool:
    """Whether a run is the record of a kernel, by the first words of its journals: there may be ten thousand runs."""
    with contextlib.suppress(OSError):
        for paths in list_segments(directory).values():
            if (described := _described(paths[0])) is not None:
                return described.kind == KERNEL
    return False


def _described(segment: str) -> Described | None:
    """Without a look at checksums: what is to go is read in full before."""
    with open(segment, "rb", buffering=0) as file:
        data = file.read(FIRST_WORDS_BYTES)
    for stretch in hop(data, HEADER_SIZE)[0]:
        for frame in stretch.frames() if stretch.kind == NUMBERS[Described] else ():
            if isinstance(record := decode_control(data, frame), Described):
                return record
    return None
