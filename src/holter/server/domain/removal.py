"""Removes a run, also against a sidecar that sends it at the same moment, and brings it back for a while."""

import contextlib
from collections.abc import Iterator

from holter.catalog.change.deletions import delete_run, hide_run, restore_run
from holter.catalog.change.trash import Trash
from holter.server.domain.emptying import empty_later
from holter.server.domain.services import Services

WITHIN_S = 60.0


def remove_run(services: Services, run: str, *, by: str) -> None:
    """Remove a run from disk and index; from then on what is sent of it is refused. Raises OSError, StorageError."""

    def remove() -> None:
        delete_run(services.data, run, by=by)
        services.follower.forget(run)

    services.follower.call(remove).result(WITHIN_S)


def hide(services: Services, run: str, *, by: str, user: str) -> bool:
    """Remove a run so that its user can have it back; where that can't be, for good, and False.

    Files that were uploaded go with the run from the store of all files, and would not come back. Where there may be
    other servers, only the disk of this one would have it. Raises OSError, StorageError.
    """
    can_come_back = services.papers is None and not services.storage.blobs.attached(run)
    if not can_come_back or not services.follower.call(lambda: _hide(services, run, by, user)).result(WITHIN_S):
        remove_run(services, run, by=by)
        return False
    empty_later(services.data)
    return True


def _hide(services: Services, run: str, by: str, user: str, /) -> bool:
    is_hidden = hide_run(services.data, run, by=by, user=user)
    if is_hidden:
        services.follower.forget(run)
    return is_hidden


def restore(services: Services, run: str) -> bool:
    """Bring a hidden run back; False where it is gone for good. Raises OSError, StorageError."""
    is_back = services.follower.call(lambda: restore_run(services.data, run)).result(WITHIN_S)
    if is_back:
        services.follower.take_in(run)
    return is_back


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
    if services.ingest.leases.is_elsewhere(run):
        services.follower.call_others()
    else:
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
