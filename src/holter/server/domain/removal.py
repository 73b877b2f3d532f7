"""Removes a run for good, also against a sidecar that sends it at the same moment."""

import contextlib
from collections.abc import Iterator

from holter.catalog.change.deletions import delete_run
from holter.catalog.change.trash import Trash
from holter.server.domain.services import Services

WITHIN_S = 60.0


def remove_run(services: Services, run: str, *, by: str) -> None:
    """Remove a run from disk and index; from then on what is sent of it is refused. Raises OSError, StorageError."""

    def remove() -> None:
        delete_run(services.data, run, by=by)
        services.follower.forget(run)

    services.follower.call(remove).result(WITHIN_S)


@contextlib.contextmanager
def taking_in(services: Services, run: str) -> Iterator[None]:
    """Within this, something that was sent is kept, to be taken in soon. Raises Refused where the run was deleted."""
    services.deletions.check(run)
    try:
        yield
    except OSError:  # its directory may have gone meanwhile
        services.deletions.check(run)
        raise
    has_taken_in(services, run)


def has_taken_in(services: Services, run: str) -> None:
    """Something that was sent is kept now, to be taken in soon. Raises Refused where the run was deleted meanwhile."""
    services.follower.nudge()
    if services.deletions.find(run) is None:
        return
    # The deletion is noted before the files go: so what we kept after they went is seen here.
    services.follower.call(lambda: _remove_again(services, run))
    services.deletions.check(run)


def _remove_again(services: Services, run: str) -> None:
    with contextlib.suppress(FileNotFoundError):
        Trash(services.data).remove(run)
    services.follower.forget(run)
