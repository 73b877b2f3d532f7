"""The port for who digests a run, where several servers share a storage: each run has a lease, and each lease a number.

The number grows whenever another server takes the lease. Rows of the table of runs are written under it: those of a
server that has lost its lease, and does not know, are passed over.
"""

from collections.abc import Collection, Mapping
from typing import NamedTuple, Protocol


class Standing(NamedTuple):
    """Who digests what at one moment."""

    ours: Mapping[str, int]
    """The numbers of our leases, by run."""
    others: Collection[str]
    """Runs that are others', or were until they left or died."""
    left: Collection[str]
    """Those of them whose server has left."""
    orphaned: Collection[str]
    """Those whose server has not been heard of for `DEAD_S`."""
    servers: int
    """How many live, with this one."""


DEAD_S = 5.0
"""A server that has not been heard of for so long has no leases."""


class LeaseStore(Protocol):
    """Thread-safe. Each method raises StorageFailing. Times are those of the store, so clocks of servers may differ."""

    def beat(self, server: str) -> Standing:
        """Say that a server lives; how things stand."""

    def take(self, server: str, sizes: Mapping[str, int], *, dead_s: float = DEAD_S) -> Mapping[str, int]:
        """The numbers of those runs that are the server's from now on.

        A run that nobody digests is anybody's, where it has more bytes than were digested, and so is one whose server
        has not been heard of for so long. Nothing is the server's that is itself not heard of.
        """

    def settle(self, server: str, sizes: Mapping[str, int]) -> None:
        """So many bytes of these runs are digested, and nobody needs to go on."""

    def leave(self, server: str) -> None:
        """What is the server's is anybody's now. Idempotent."""

    def forget(self, run: str) -> None:
        """The run is deleted. Idempotent."""

    def close(self) -> None:
        """Idempotent."""
