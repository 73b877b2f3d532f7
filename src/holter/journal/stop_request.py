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


_decode = msgspec.json.Decoder(StopRequest).decode


def write_stop_request(directory: str, request: StopRequest) -> None:
    """Ask; a newer wish replaces an older one. Raises OSError."""
    replace_file(os.path.join(directory, NAME), msgspec.json.encode(request))


def read_stop_request(directory: str) -> StopRequest | None:
    """The newest wish, None where nobody has one."""
    try:
        with open(os.path.join(directory, NAME), "rb") as file:
            return _decode(file.read(1 << 16))
    except (OSError, msgspec.MsgspecError):
        return None
