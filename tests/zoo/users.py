"""Ordinary users to run programs as, where the tests are root's."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

FIRST_UID = 100_000
# What such a user must be able to read: the interpreter, its packages, and holter itself.
NEEDED = tuple(dict.fromkeys(Path(path).resolve() for path in (sys.base_prefix, sys.prefix, Path(__file__).parents[2])))


def uid_of_lane(lane: int) -> int:
    """A user of its own for each program at a time: limits count by user."""
    return FIRST_UID + os.getpid() % 1000 * 4 + lane


def become(uid: int) -> list[str]:
    """The beginning of a command that runs as an ordinary user without a name; it becomes the rest of the command.

    Where an interpreter lies below a closed directory, such as root's home, the command sees another in its place
    with nothing but that interpreter.
    """
    ready = ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups", "--"]
    opened = list(_open_closed())
    if not opened:
        return ready
    return ["unshare", "--mount", "--", "sh", "-c", " && ".join([*opened, 'exec "$@"']), "sh", *ready]


def _open_closed() -> Iterator[str]:
    for closed in dict.fromkeys(filter(None, map(_closed_ancestor, NEEDED))):
        within = [path for path in NEEDED if closed in path.parents]
        kept = [f"/mnt/zoo-{number}" for number in range(len(within))]
        yield "mount -t tmpfs -o mode=755 zoo /mnt"
        yield from (f"mkdir {at} && mount --rbind {path} {at}" for at, path in zip(kept, within, strict=True))
        yield f"mount -t tmpfs -o mode=755 zoo {closed}"
        yield from (f"mkdir -p {path} && mount --rbind {at} {path}" for at, path in zip(kept, within, strict=True))


def _closed_ancestor(path: Path) -> Path | None:
    """The first directory on the way that not everybody may enter."""
    return next((each for each in reversed(path.parents) if not each.stat().st_mode & 0o001), None)
