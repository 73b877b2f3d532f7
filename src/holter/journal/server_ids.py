"""The ids that a run has on servers where somebody else had its own already: a small file in its directory."""

import os

import msgspec

from holter.journal.kept_files import replace_file

NAME = ".server-ids.json"
"""Hidden: it is no file for people, and senders leave such out."""

_decode = msgspec.json.Decoder(dict[str, str]).decode


def read_server_id(directory: str, url: str, *, run: str) -> str:
    """The id of a run on a server; its own where nothing else is known."""
    return _read(directory).get(url, run)


def write_server_id(directory: str, url: str, *, run: str, there: str) -> None:
    """Remember it; idempotent. Raises OSError."""
    known = _read(directory)
    if known.get(url, run) != there:
        replace_file(os.path.join(directory, NAME), msgspec.json.encode({**known, url: there}))


def _read(directory: str) -> dict[str, str]:
    try:
        with open(os.path.join(directory, NAME), "rb") as file:
            return _decode(file.read(1 << 16))
    except (OSError, msgspec.MsgspecError):
        return {}
