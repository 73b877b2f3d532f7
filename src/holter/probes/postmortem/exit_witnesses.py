"""All ways to learn how a process that is not our child has ended, the surest first."""

import contextlib
import os
from collections.abc import Collection
from typing import TYPE_CHECKING

from holter.model.witnesses import CONNECTOR, PIDFD_INFO
from holter.probes.postmortem.exit_status import ExitStatus, kernel_version, read_pidfd_info, read_zombie

if TYPE_CHECKING:
    from holter.probes.postmortem.connector import Announced, Connector
    from holter.probes.postmortem.zombies import Zombies

# From this version on a pidfd keeps the exit status.
EXIT_INFO_SINCE = (6, 15)


class ExitWitnesses:
    """Owns what must be open before a process dies. Used by one thread; never blocks; closed by its owner."""

    def __init__(self, without: frozenset[str] = frozenset()) -> None:
        self._asks_pidfd = PIDFD_INFO not in without
        has_info = self._asks_pidfd and kernel_version(os.uname().release) >= EXIT_INFO_SINCE
        # Also where a pidfd has the status: of children that were gone before somebody could open one.
        self._connector = None if CONNECTOR in without else _open_connector()
        self._zombies = None if has_info else _open_zombies()
        self._asking: dict[int, int] = {}

    @property
    def descriptors(self) -> list[int]:
        """What to poll, beside pidfds, to be woken by the end of a child that nobody has met."""
        descriptor = self._connector.descriptor if self._connector is not None else -1
        return [descriptor] if descriptor >= 0 else []

    @property
    def hears_exits(self) -> bool:
        """Whether Linux announces every exit, also of children that come and go at once."""
        return self._connector is not None

    def children_since(self, number: int) -> "tuple[int, list[Announced]]":
        """The exits of descendants of the followed ones, from this number on, and the number to ask with next."""
        if self._connector is None:
            return number, []
        return self._connector.children_since(number)

    def threads_of(self, pid: int) -> frozenset[int]:
        """The threads that ended with a process that is dead, as far as Linux announced them."""
        return self._connector.threads_of(pid) if self._connector is not None else frozenset()

    def follow(self, pid: int, pidfd: int = -1) -> None:
        """This process lives and its end will be asked for; `forget` it as often as you did this."""
        self._asking[pid] = self._asking.get(pid, 0) + 1
        if self._connector is not None:
            self._connector.follow(pid)
        if self._zombies is not None:
            self._zombies.follow(pid, pidfd)

    def catch(self, ready: Collection[int]) -> None:
        """Call it first whenever one of these descriptors has become readable: some ends can be seen only then."""
        if self._zombies is not None:
            self._zombies.catch(ready)

    def forget(self, pid: int) -> None:
        """Whoever followed this process will not ask about it any more."""
        self._asking[pid] = self._asking.get(pid, 1) - 1
        if self._asking[pid] > 0:  # another run of the same process
            return
        del self._asking[pid]
        if self._connector is not None:
            self._connector.forget(pid)
        if self._zombies is not None:
            self._zombies.forget(pid)

    def read(self, pidfd: int, pid: int, *, started: int) -> ExitStatus | None:
        """Return the exit status of a dead process, or None where nobody can tell, or not yet: then ask again.

        Args:
            pidfd: opened while the process lived; negative for none.
            pid: the same process in /proc, as long as nobody has waited for it.
            started: field 22 of its stat, so that another process with its pid is not taken for it.
        """
        found = read_pidfd_info(pidfd) if self._asks_pidfd else None
        caught = self._zombies.status(pid) if self._zombies is not None else None
        return found or caught or read_zombie(pid, started) or self._heard(pid)

    def drain(self) -> None:
        """At each tick: take in what Linux announced, before there is too much of it."""
        if self._connector is not None:
            self._connector.drain()

    def close(self) -> None:
        """Idempotent."""
        if self._connector is not None:
            self._connector.close()
        if self._zombies is not None:
            self._zombies.close()

    def _heard(self, pid: int) -> ExitStatus | None:
        with contextlib.suppress(OSError):
            status = self._connector.status(pid) if self._connector is not None else None
            return ExitStatus(status=status, source="connector") if status is not None else None
        return None


def _open_connector() -> "Connector | None":
    from holter.probes.postmortem.connector import open_connector  # not everywhere

    return open_connector()


def _open_zombies() -> "Zombies":
    from holter.probes.postmortem.zombies import Zombies

    return Zombies()
