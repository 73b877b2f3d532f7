"""How many files and connections this process may have open: as many as the system lets it, shared out beforehand."""

import resource
import sys

import msgspec

# Where there is no limit at all; it is also what most systems allow at most.
ENOUGH = 65_536
MOST_CONNECTIONS, MOST_BACKLOG = 4_000, 1_024
# Each costs 0.1 ms: so many come in before somebody else has a turn.
AT_ONCE = 64


class Shares(msgspec.Struct, frozen=True):
    """Who may take how much; the rest is for what is opened in passing, and for the index."""

    connections: int
    backlog: int
    """So many come in at once."""


def raise_limit() -> None:
    """Let this process open as many files as it may. Idempotent."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = ENOUGH if hard == resource.RLIM_INFINITY else hard
    if soft != resource.RLIM_INFINITY and soft < wanted:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        except (OSError, ValueError):  # macOS allows less than it says
            sys.stderr.write(f"holter: only {soft:,} files may be open at once\n")


def share_out() -> Shares:
    """The shares of what may be open now."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    limit = ENOUGH if soft == resource.RLIM_INFINITY else soft
    return Shares(
        connections=min(MOST_CONNECTIONS, limit // 2),
        backlog=max(1, min(AT_ONCE, limit // 8)),
    )
