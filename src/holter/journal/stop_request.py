"""The wish that a run stops: a small file in its directory, which its sidecar sees within a second."""

import os

import msgspec

from holter.journal.kept_files import replace_file

NAME = "stop-request.json"


class StopRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Who wants it, why, and when; `attempt` is the one that there was then, 0 where nobody knew."""

    by: str
    at_ns: int
    reason: str = ""
    attempt: int = 0
    after: str = ""
    """`checkpoint`: not before the next one is whole; empty: now."""


_decode = msgspec.json.Decoder(StopRequest).decode


def write_stop_request(directory: str, request: StopRequest) -> str:
    """Ask; a newer wish replaces an older one. Returns the file's path. Raises OSError."""
    path = os.path.join(directory, NAME)
    replace_file(path, msgspec.json.encode(request))
    return path


def read_stop_request(directory: str) -> StopRequest | None:
    """The newest wish, None where nobody has one."""
    try:
        with open(os.path.join(directory, NAME), "rb") as file:
            return _decode(file.read(1 << 16))
    except (OSError, msgspec.MsgspecError):
        return None
