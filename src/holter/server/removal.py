"""Removes a run for good, also against a sidecar that sends it at the same moment."""

import contextlib
from collections.abc import Iterator

from holter.catalog.deletions import delete_run
from holter.catalog.trash import Trash
from holter.server.desk import Desk

WITHIN_S = 60.0


def remove_run(desk: Desk, run: str, *, by: str) -> None:
    """Remove a run from disk and index; from then on what is sent of it is refused. Raises OSError, StorageError."""

    def remove() -> None:
        delete_run(desk.data, run, by=by)
        desk.follower.forget(run)

    desk.follower.call(remove).result(WITHIN_S)


@contextlib.contextmanager
def taking_in(desk: Desk, run: str) -> Iterator[None]:
    """Within this, something that was sent is kept, to be taken in soon. Raises Refused where the run was deleted."""
    desk.deletions.check(run)
    try:
        yield
    except OSError:  # its directory may have gone meanwhile
        desk.deletions.check(run)
        raise
    has_taken_in(desk, run)


def has_taken_in(desk: Desk, run: str) -> None:
    """Something that was sent is kept now, to be taken in soon. Raises Refused where the run was deleted meanwhile."""
    desk.follower.nudge()
    if desk.deletions.find(run) is None:
        return
    # The deletion is noted before the files go: so what we kept after they went is seen here.
    desk.follower.call(lambda: _remove_again(desk, run))
    desk.deletions.check(run)


def _remove_again(desk: Desk, run: str) -> None:
    with contextlib.suppress(FileNotFoundError):
        Trash(desk.data).remove(run)
    desk.follower.forget(run)
