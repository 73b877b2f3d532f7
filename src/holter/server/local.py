"""`holter ui`: the runs of one directory of this machine, for the one who owns them."""

import os
import time
from collections.abc import Callable, Mapping
from types import TracebackType

from holter.catalog.change.user_name import user_name
from holter.errors import UsageError
from holter.journal.rundir import make_private
from holter.server.domain.services import ServerSettings, Services, ui_token
from holter.server.ingest.index_place import index_directory
from holter.server.process.descriptors import raise_limit
from holter.server.process.instance import Claim, Instance
from holter.server.serving import listen, serve

HOST = "127.0.0.1"
# On a busy machine it takes a while to start.
TRIES, TRY_EVERY_S = 600, 0.1


def claim_or_find(data: str, environ: Mapping[str, str]) -> Claim | Instance:
    """The right to serve this directory, or who does so already. Raises UsageError where they don't say how."""
    make_private(data)
    claim = Claim(index_directory(data, environ))
    other = None
    for _ in range(TRIES):
        if claim.take():
            return claim
        if (other := claim.other()) is not None:
            break
        time.sleep(TRY_EVERY_S)  # it is just starting
    claim.close()
    if other is None or other.kind != "ui":
        raise UsageError(
            f"{data} is served by another process already: {other.url if other else 'it is just starting'}"
        )
    return other


class Local:
    """Owns the directory's index, to which it has the claim, to the end of the block. Raises UsageError, OSError."""

    def __init__(self, data: str, environ: Mapping[str, str], *, claim: Claim, port: int | None) -> None:
        raise_limit()
        self._claim = claim
        self._listener = listen(HOST, port)
        address = f"http://{HOST}:{self._listener.getsockname()[1]}"
        token = ui_token(data)
        self.url = f"{address}/?token={token}"
        self._services = Services(
            ServerSettings(data=data, kind="ui", token=token, user=user_name(), address=address), environ
        )
        self.was_damaged = self._services.was_damaged
        self._claim.tell(Instance(pid=os.getpid(), kind="ui", url=self.url))

    def serve(self, when_ready: Callable[[], None]) -> None:
        """Until SIGINT or SIGTERM."""
        serve(self._services, self._listener, when_ready=when_ready)

    def __enter__(self) -> "Local":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._listener.close()
        self._claim.close()
