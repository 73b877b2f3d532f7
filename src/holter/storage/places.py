"""Where each port keeps what it keeps: a URL for each, from options or from `holter-server.toml`."""

import contextlib
import json
import os
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

import msgspec

from holter.errors import UsageError
from holter.journal.kept_files import replace_for_good
from holter.journal.rundir import sync_directory

FILE = "holter-server.toml"
PORTS = ("runs", "series", "console", "blobs", "settings", "media")
NAMES = (*PORTS, "journals", "sweeps")
"""Each is an option of `holter server` and a name in the file."""
# An engine for points and lines has no place for the rest, and one for the rest has one for points.
_FOLLOWS = {"series": "runs", "console": "series", "settings": "runs", "media": "runs"}


class Places(msgspec.Struct, frozen=True):
    """A URL for each port: the part before ':' names the engine."""

    runs: str
    series: str
    console: str
    blobs: str
    settings: str
    media: str
    journals: str = ""
    """Empty for the data directory of the one server that there is."""
    sweeps: str = ""
    """Empty for where the runs are, if these are not on one machine; else in the data directory."""

    @classmethod
    def at(cls, url: str) -> "Places":
        """All at one place."""
        return cls(url, url, url, url, url, url)

    def urls(self) -> tuple[str, ...]:
        """Each place once."""
        return tuple(dict.fromkeys(getattr(self, port) for port in PORTS))


def places_in(directory: str) -> Places:
    """All in a directory of this machine, which needs nothing else."""
    return Places.at(f"sqlite:{directory}")


def choose_places(given: Mapping[str, str], default: str) -> Places:
    """Where what goes. What nobody named follows a neighbour: series the runs, console the series, settings and media
    the runs; runs and blobs are at the default place, journals in the data directory."""
    chosen = {port: given.get(port) or "" for port in NAMES}
    chosen["runs"] = chosen["runs"] or default
    chosen["blobs"] = chosen["blobs"] or default
    for port, other in _FOLLOWS.items():
        chosen[port] = chosen[port] or chosen[other]
    return Places(**chosen)


def read_places(data: str) -> dict[str, str]:
    """The table `[storage]` of the file in a data directory; nothing where there is none. Raises UsageError."""
    path = os.path.join(data, FILE)
    import tomllib  # only those who have the file pay for it

    try:
        with open(path, "rb") as file:
            found: Any = tomllib.load(file)
    except FileNotFoundError:
        return {}
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise UsageError(f"{path} can't be read as TOML: {error}; correct it or move it away") from error
    table = found.pop("storage", {})
    if found or not isinstance(table, dict):
        said = ", ".join(found) or "storage"
        raise UsageError(f"{path} may have one table, [storage], and has {said}: docs/scale.md shows what it may have")
    for name, value in table.items():
        if name not in NAMES or not isinstance(value, str):
            raise UsageError(
                f"{path} has {name} = {value!r} in [storage], which may have URLs for {', '.join(NAMES)}, and nothing "
                "else"
            )
    return table


def write_places(data: str, places: Places, *, default: str) -> None:
    """Have a server that is started with this directory keep everything there; what the file had before is beside it.

    Raises OSError.
    """
    path = os.path.join(data, FILE)
    with contextlib.suppress(FileNotFoundError), open(path, "rb") as file:
        replace_for_good(f"{path}.before", file.read())
    lines = [
        f"{name} = {json.dumps(url, ensure_ascii=False)}\n"
        for name in NAMES
        if (url := getattr(places, name)) not in ("", default)
    ]
    if lines:
        replace_for_good(path, f"[storage]\n{''.join(lines)}".encode())
    elif os.path.exists(path):
        os.unlink(path)
    sync_directory(data)


def without_password(url: str) -> str:
    """A URL as it may be shown and written down."""
    try:
        parts = urlsplit(url)
        password = parts.password
    except ValueError:
        return url.partition(":")[0] + ":…"
    if password is None:
        return url
    return parts._replace(netloc=parts.netloc.replace(f":{password}@", ":…@", 1)).geturl()
