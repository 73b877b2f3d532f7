"""The port for what changed of runs, where several servers share a storage: the newest change of each kind, for all."""

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple, Protocol

import msgspec


class Change(msgspec.Struct, frozen=True):
    """Something new of one kind about one run."""

    seq: int
    kind: str
    run: str
    project: str
    data: bytes
    user: str | None = None
    """The only one who is told of it; None for all."""

    @property
    def about(self) -> str:
        """What it is about: a later one of the same kind takes its place. Its run, or its project and user."""
        return self.run or f"{self.project}\n{self.user}"


class Told(NamedTuple):
    """What changed since a number, and up to which one all is known; `forgotten` is the highest that is gone."""

    changes: list[Change]
    seq: int
    forgotten: int


class Woken(NamedTuple):
    """What another server has said."""

    is_told: bool = False
    has_grown: bool = False


class ChangeStore(Protocol):
    """The newest change of each kind to each run. Thread-safe. Each method but `wait` raises StorageFailing.

    What is told together has one number. Numbers grow, but may become visible out of order: so who reads goes on from
    the number up to which all is known, and meets some changes again.
    """

    def tell(self, changes: Sequence[Change], *, has_grown: bool = False) -> None:
        """Keep changes, which get their number here, and wake those who wait; also where there are none.

        `has_grown` is passed on to them: something was received that others may have to digest.
        """

    def since(self, seq: int, *, most: int) -> Told:
        """What is newer than a number, the oldest first, or the newest of that."""

    def is_first(self, word: str, data: bytes) -> bool:
        """Whether nobody has said this before, to one of all who ask: that one says it, and tells `unsaid` of it."""

    def unsaid(self, said: Collection[str], saying: Collection[str], *, most: int) -> Mapping[str, bytes]:
        """Some words are said, and the caller is still about to say others, which it tells every few seconds.

        Returns the data of those whose owner does not tell so any more: they are the caller's to say from now on.
        """

    def forget(self, older_s: float) -> None:
        """Let go of what nobody can want any more. Idempotent."""

    def wait(self, within_s: float) -> Woken:
        """Until another server has told something, or the time is over. For one thread.

        That may be never, as through a pooler: whoever waits has to look for itself, too.
        """

    def close(self) -> None:
        """Idempotent; ends the wait."""
