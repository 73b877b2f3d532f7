"""Removes a run for good, also against a sidecar that sends it at the same moment."""

import contextlib
from collections.abc import Iterator

from holter.catalog.trash import Trash
from holter.server.desk import Desk
from holter.server.ingest.deletions import Deletion

WITHIN_S = 60.0


def remove_run(desk: Desk, run: str, *, by: str) -> None:
    """Remove a run from disk and index; from then on what is sent of it is refused. Raises OSError, StorageError."""
    desk.deletions.note(run, Deletion(by=by, at=desk.now()))
    try:
        desk.follower.call(lambda: _remove(desk, run)).result(WITHIN_S)
    except OSError:
        desk.deletions.forget(run)
        raise


@contextlib.contextmanager
def taking_in(desk: Desk, run: str) -> Iterator[None]:
    """Within this, something that was sent is kept, to be taken in soon. Raises Refused where the run was deleted."""
    desk.deletions.check(run)
    try:
        yield
    except OSError:  # its directory may have gone meanwhile
        desk.deletions.check(run)
        raise
    desk.follower.nudge()
    if desk.deletions.find(run) is None:
        return
    # The deletion is noted before the files go: so what we kept after they went is seen here.
    desk.follower.call(lambda: _remove(desk, run)).result(WITHIN_S)
    desk.deletions.check(run)


def _remove(desk: Desk, run: str) -> None:
    with contextlib.suppress(FileNotFoundError):
        Trash(desk.data).remove(run)
    desk.ingest.forget(run)
