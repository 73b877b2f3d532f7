"""The file `alerts.toml`, and what may stand in it."""

import importlib
import os
from typing import Any

import msgspec

from holter.alerts import channels
from holter.alerts.message import KINDS
from holter.alerts.target import Target
from holter.errors import UsageError
from holter.lean import modules_in

FILE = "alerts.toml"
MOST_TARGETS = 20


class AlertFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The file as it is written."""

    target: tuple[Target, ...] = ()
    allow: tuple[str, ...] = ()
    """On a team server: hosts inside of its network that targets of projects may name."""


def read_file(directory: str) -> AlertFile:
    """What the user has written; nothing where there is no file. Raises UsageError: what, where, what to do."""
    path = os.path.join(directory, FILE)
    import tomllib  # only those who have the file pay for it

    try:
        with open(path, "rb") as file:
            found = msgspec.convert(tomllib.load(file), AlertFile)
    except FileNotFoundError:
        return AlertFile()
    except (OSError, tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        # What a validation error says has names and types in it, and no values.
        raise UsageError(f"{path} can't be read: {error}; docs/alerts.md shows what it may have") from error
    if len(found.target) > MOST_TARGETS:
        raise UsageError(f"{path} has {len(found.target)} targets, and there may be {MOST_TARGETS}")
    for each in found.target:
        check_target(each)
    return found


def check_target(target: Target) -> None:
    """Raises UsageError for what cannot work."""
    known = modules_in(channels)
    if target.kind not in known:
        raise UsageError(f"there is no kind of target {target.kind[:40]!r}: it is one of {', '.join(known)}")
    unknown = [each for each in target.on if each not in KINDS]
    if unknown:
        raise UsageError(f"{target.label}: on has {unknown[0][:40]!r}, and may have {', '.join(KINDS)}")
    channel_of(target).check(target)


def channel_of(target: Target) -> Any:  # noqa: ANN401  a module
    """The file of the kind."""
    return importlib.import_module(f"{channels.__name__}.{target.kind}")
