"""`run.save()`: which files somebody means, and copies of the small ones at once."""

import os
import re
from typing import Any

import msgspec

from holter.client.recorder import Recorder
from holter.errors import UsageError
from holter.journal.kept_files import Match, clone, find_matches, free_bytes, is_kept, keep
from holter.model.records import Saved

POLICIES = ("now", "live", "end")
SMALL_BYTES = 1 << 20
# What the caller waits for at most; the rest is the sidecar's.
MOST_AT_ONCE_BYTES = 8 << 20
MOST_AT_ONCE = 100
_REMOTE = re.compile(r"[a-z][a-z0-9+.-]+://")


class Wish(msgspec.Struct, frozen=True):
    """Files below a directory, by a pattern that can't leave it."""

    pattern: str
    base: str
    policy: str


class Kept(msgspec.Struct):
    """What came of a wish at once."""

    files: list[str]
    """Where the copies are, or will be."""
    later: int = 0
    """How many files are left to the sidecar."""
    trouble: str = ""
    """Why one of them is not kept."""


def understand(glob: Any, base_path: Any, *, policy: Any) -> Wish:
    """What the arguments of `save()` mean, by W&B's rules. Raises UsageError.

    Without `base_path`, a relative pattern keeps its folders, and an absolute one the last of them.
    """
    if policy not in POLICIES:
        raise UsageError(f"policy must be one of {', '.join(POLICIES)}; got {policy!r}")
    pattern = _path("a file name or pattern", glob)
    if _REMOTE.match(pattern):
        raise UsageError(f"save() keeps files of this machine, and {pattern!r} is none")
    wanted = os.path.abspath(pattern)
    if base_path is not None:
        base = os.path.abspath(_path("base_path", base_path))
        if not os.path.isabs(pattern) and _leaves(os.path.relpath(wanted, base)):
            wanted = os.path.normpath(os.path.join(base, pattern))
    else:
        base = os.path.dirname(os.path.dirname(wanted)) if os.path.isabs(pattern) else os.getcwd()
    inside = os.path.relpath(wanted, base)
    if _leaves(inside):
        raise UsageError(
            f"save({pattern!r}) would leave the run's directory: it is not below {base}; name a base_path above it"
        )
    return Wish(inside, base, policy)


def save_files(wish: Wish, recorder: Recorder, *, at_ns: int) -> Kept:
    """Do at once what can be done, and write down the wish for the sidecar, who does the rest. Raises NotKept."""
    kept = keep_at_once(wish, recorder.directory, limit_bytes=recorder.journal.limit_bytes)
    if kept.trouble:
        recorder.complain(f"save:{wish.pattern}", kept.trouble)
    elif not kept.files and wish.policy != "end":
        yet = " yet" if wish.policy == "live" else ""
        recorder.complain(f"save:{wish.pattern}", f"save({wish.pattern!r}) matches no file in {wish.base}{yet}")
    recorder.record(
        Saved(
            at_ns=at_ns,
            pattern=wish.pattern,
            base=wish.base,
            policy=wish.policy,
            files=len(kept.files),
            is_done=not kept.later,
        )
    )
    return kept


def keep_at_once(wish: Wish, directory: str, *, limit_bytes: int) -> Kept:
    """Copy what is small, share the blocks of what is large where that can be had, and leave the rest."""
    matches = find_matches(wish.pattern, wish.base, directory=directory)
    kept = Kept([match.target(directory) for match in matches])
    if wish.policy == "end":
        return kept
    left_bytes, left = MOST_AT_ONCE_BYTES, MOST_AT_ONCE
    room = free_bytes(directory, limit_bytes) if matches else 0
    for match in matches:
        if is_kept(match, directory):
            continue
        if match.bytes > room:
            kept.trouble = _no_room(match, limit_bytes)
        elif left <= 0 or left_bytes < match.bytes or not _try(match, directory, kept):
            kept.later += 1
        else:
            room, left, left_bytes = room - match.bytes, left - 1, left_bytes - min(match.bytes, SMALL_BYTES)
    return kept


def _try(match: Match, directory: str, kept: Kept) -> bool:
    """Whether a file was kept, or there is no point in trying again."""
    try:
        return keep(match, directory) if match.bytes <= SMALL_BYTES else clone(match, directory)
    except OSError as error:
        kept.trouble = f"{match.source} is not kept: {error.strerror or error}"
        return True


def _no_room(match: Match, limit_bytes: int) -> str:
    because = f"the run's limit of {limit_bytes:,} bytes leaves no room; HOLTER_DISK_LIMIT raises it"
    return f"{match.source} ({match.bytes:,} bytes) is not kept: {because}"


def _path(what: str, value: Any) -> str:
    try:
        path = os.fsdecode(value)
    except TypeError:
        raise UsageError(f"save() needs {what}, got {type(value).__name__} {str(value)[:40]!r}") from None
    if not path or "\0" in path:
        raise UsageError(f"save() needs {what}, got {path!r}")
    return path


def _leaves(path: str) -> bool:
    return path == os.pardir or path.startswith(os.pardir + os.sep)
