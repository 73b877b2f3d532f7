"""Says to which run of the server belongs what somebody sends."""

import os
from collections.abc import Callable, Collection

import msgspec

from holter.catalog.change.deletions import Deletions
from holter.journal.rundir import is_run_id, list_segments, run_directory
from holter.model.run_row import RunRow
from holter.server.process.shared_papers import SharedPapers
from holter.server.security.access import Access, Visitor
from holter.server.security.keyring import SECRETS
from holter.server.security.owners import Owner, Owners, Sender


class Arrivals:
    """Knows whose each run of a data directory is. Thread-safe.

    Args:
        is_shared: whether several people send; with `holter ui` there is one, and every run is theirs.
        papers: what other servers know as well.
    """

    def __init__(
        self, data: str, access: Access, *, deletions: Deletions, is_shared: bool, papers: SharedPapers | None = None
    ) -> None:
        self._data = data
        self._access = access
        self._deletions = deletions
        self._owners: Owners | None = None
        if is_shared:
            path = os.path.join(data, SECRETS, "owners.jsonl")
            self._owners = Owners(path, journals=self._journals, is_taken=self._is_taken, book=papers)
            self._owners.share()

    def owner(self, run: str) -> Owner | None:
        """Who sent a run; None where nobody knows."""
        return self._owners.get(run) if self._owners is not None else None

    def has_owner(self, user: str) -> bool:
        """Whether a run is theirs."""
        return self._owners is not None and self._owners.has_user(user)

    def has_sent(self, visitor: Visitor, run: str) -> bool:
        """Whether somebody has a run here by an id of theirs."""
        return self._owners is None or bool(self._owners.of_sender(visitor.user, run))

    def claim(self, visitor: Visitor, run: str, *, project: str | None, journals: Collection[str]) -> str:
        """The id under which somebody's run is known here; it is theirs from now on. Idempotent.

        Raises Refused, OSError.
        """
        if self._owners is None:
            return run
        if self._owners.get(run) is None:
            self._deletions.check(run)
        sender = Sender(user=visitor.user, run=run, project=project, journals=journals)
        return self._owners.claim(sender, has_grant=self._grants(visitor))

    def check(self, visitor: Visitor, run: str) -> None:
        """Raises Refused where a run is somebody else's."""
        if self._owners is not None:
            self._owners.check(visitor.user, run, has_grant=self._grants(visitor))

    def admit(self, visitor: Visitor, run: str) -> None:
        """The same; one that is nobody's is theirs from now on. Raises Refused, OSError."""
        if self._owners is not None:
            self._owners.admit(visitor.user, run, has_grant=self._grants(visitor))

    def names(self, visitor: Visitor, run: str) -> list[str]:
        """The ids that a run of somebody may have here. Raises Refused where it is somebody else's."""
        if self._owners is None:
            return [run]
        if mine := self._owners.of_sender(visitor.user, run):
            return [owner.run for owner in mine]
        self.check(visitor, run)
        return [run]

    def placed(self, row: RunRow) -> RunRow:
        """A run's row in the project that its journals name, if its owner may send there; else in the one they said.

        Else anybody could write themselves into any project: what journals say nobody checks on the way.
        """
        owner = self.owner(row.id)
        if self._owners is None or owner is None or owner.project == row.project:
            return row
        # Before it is told, or where it can't be read, the project is not the one that everybody sees.
        if not row.project or not self._access.may_send_to(owner.user, row.project):
            return msgspec.structs.replace(row, project=owner.project)
        self._owners.settle(row.id, row.project)
        return row

    def _grants(self, visitor: Visitor) -> Callable[[str], bool]:
        # Only where it is somebody else's run, which is rare, anybody looks.
        return lambda run: self._access.rights(visitor).may_send(run)

    def _journals(self, run: str) -> Collection[str]:
        try:
            return list_segments(run_directory(self._data, run)).keys()
        except FileNotFoundError:
            return ()

    def _is_taken(self, run: str) -> bool:
        is_there = os.path.lexists(run_directory(self._data, run))
        return not is_run_id(run) or is_there or self._deletions.find(run) is not None
