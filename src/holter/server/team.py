"""`holter server`: the runs of many machines, for those who have a key."""

import os
import socket
import time
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType

import msgspec

from holter.journal.rundir import make_private
from holter.server.domain.services import ServerSettings, Services
from holter.server.process.descriptors import raise_limit
from holter.server.process.instance import Instance, claim_index
from holter.server.serving import PORT, listen, serve
from holter.storage.places import Places


class TeamSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Where a server listens, and to whom."""

    host: str = "127.0.0.1"
    port: int | None = None
    """None for the usual one."""
    allowed_hosts: Sequence[str] = ()
    """Names that clients use for it."""
    proxies: Sequence[str] = ()
    """Addresses and networks of those who are believed when they say for whom they ask."""
    access_log: str = ""
    """The file for a line about each request; empty for none."""
    places: Places | None = None
    """Where each port keeps what it keeps; None for the index of the data directory."""


class Team:
    """Owns the directory's index from its making to the end of the block. Raises UsageError, OSError."""

    def __init__(self, data: str, environ: Mapping[str, str], *, settings: TeamSettings) -> None:
        raise_limit()
        make_private(data)
        os.chmod(data, 0o700)
        self._claim = claim_index(data, environ)
        self._listener = listen(settings.host, PORT if settings.port is None else settings.port)
        self.address = f"http://{_shown(settings.host)}:{self._listener.getsockname()[1]}"
        names = {*settings.allowed_hosts, socket.gethostname(), socket.getfqdn()}
        chosen = ServerSettings(
            data=data,
            kind="server",
            allowed_hosts=tuple(names),
            proxies=tuple(settings.proxies),
            access_log=settings.access_log,
            address=self.address,
            places=settings.places,
        )
        self._services = Services(chosen, environ)
        self.was_damaged = self._services.was_damaged
        self.first_key = self._make_first_key()
        """Shown once, where there was no key yet; else empty."""
        self._claim.tell(Instance(pid=os.getpid(), kind="server", url=self.address))

    def serve(self, when_ready: Callable[[], None]) -> None:
        """Until SIGINT or SIGTERM."""
        serve(self._services, self._listener, when_ready=when_ready)

    def __enter__(self) -> "Team":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._listener.close()
        self._claim.close()

    def _make_first_key(self) -> str:
        keys = self._services.access.keys
        return keys.add("first", "admin", now=time.time())[1] if not keys.all() else ""


def _shown(host: str) -> str:
    if host in ("0.0.0.0", "::"):
        return socket.gethostname()
    return f"[{host}]" if ":" in host else host
