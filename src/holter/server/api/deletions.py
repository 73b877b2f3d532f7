"""Deleted runs, as long as who deleted one may have it back."""

import msgspec

from holter.errors import Refused
from holter.server.domain.removal import restore
from holter.server.transport.routing import Nothing, Route, Visit


class AskedRestoring(msgspec.Struct, frozen=True, kw_only=True):
    """A run that is not there any more, by its id."""

    id: str


def restore_run(visit: Visit, asked: AskedRestoring) -> Nothing:
    """Have a run back that one has deleted a moment ago"""
    deletion = visit.services.deletions.find(asked.id)
    # Whoever did not delete it is told nothing of it.
    if (
        deletion is None
        or not deletion.user
        or deletion.user != visit.who.user
        or not restore(visit.services, asked.id)
    ):
        raise Refused(
            409,
            f"run {asked.id[:128]} can't be brought back",
            why="only who has deleted it can, within ten minutes, and not what was uploaded from another machine",
            do="where it was recorded, `holter sync --restore` sends it again",
        )
    visit.note("run-restored", run=asked.id)
    return Nothing()


ROUTES = [
    Route(
        method="POST",
        path="/deletions/{id}/undo",
        touches="server",
        answer=restore_run,
        asked=AskedRestoring,
        needs="write",
        body="json",
    )
]
