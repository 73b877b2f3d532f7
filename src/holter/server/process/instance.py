"""One server for one index: whoever comes second finds out where the first is."""

import errno
import fcntl
import os
from collections.abc import Mapping

import msgspec

from holter.errors import UsageError
from holter.journal.rundir import make_private
from holter.server.ingest.index_place import index_directory

NAME = "server.json"
_FULL = (errno.ENOSPC, errno.EDQUOT)


class Instance(msgspec.Struct, frozen=True, kw_only=True):
    """A running server. The URL has the token in it, so only the owner may read the file."""

    pid: int
    kind: str
    url: str


_decode = msgspec.json.Decoder(Instance).decode


class Claim:
    """Holds a directory for this process, until it is closed or the process ends, however that happens."""

    def __init__(self, directory: str) -> None:
        make_private(directory)
        self._path = os.path.join(directory, NAME)
        self._fd = os.open(self._path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)

    def take(self) -> bool:
        """Whether nobody else has it."""
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        os.ftruncate(self._fd, 0)
        return True

    def tell(self, instance: Instance) -> None:
        """Say where we are. On a full disk nobody hears it: they still find out that somebody is here."""
        os.ftruncate(self._fd, 0)
        try:
            os.pwrite(self._fd, msgspec.json.encode(instance), 0)
        except OSError as error:
            if error.errno not in _FULL:
                raise

    def other(self) -> Instance | None:
        """Who has it; None where they have not said so yet."""
        try:
            return _decode(os.pread(self._fd, 1 << 16, 0))
        except msgspec.MsgspecError:
            return None

    def close(self) -> None:
        """Let go. Idempotent."""
        if self._fd >= 0:
            os.close(self._fd)
        self._fd = -1


def claim_index(data: str, environ: Mapping[str, str]) -> Claim:
    """Be the only one who serves or rebuilds a directory. Raises UsageError where somebody is already."""
    claim = Claim(index_directory(data, environ))
    if claim.take():
        return claim
    other = claim.other()
    claim.close()
    who = f" (process {other.pid}, {other.url.partition('?')[0]})" if other else ""
    raise UsageError(f"{data} is served by another process already{who}: end it first, or give another directory")
