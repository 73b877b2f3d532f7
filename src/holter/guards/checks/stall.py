"""The run is alive and does not get on: no row for much longer than usual.

Learns how long the pauses between rows usually are, and how long its phases last (the first step, validation, a
checkpoint): a pause must be ten times the usual one, three times the longest so far and a minute at least. Says what
the main thread does: stopped by a signal, frozen with its container, waiting for a disk, a lock, a data loader, a pool
whose worker is gone, a collective, a GPU, or computing without an end; with the stacks of all threads where they can be
had. Of several ranks on a machine it names the one that the others wait for, and says where they wait in collectives
that do not match.
"""

import math
from collections.abc import Iterator

from holter.guards.limits import Limits
from holter.guards.progress import Progress
from holter.guards.seen import Caution, Seen, Standing
from holter.model.amounts import seconds

WORDS = {
    "stopped": "it was stopped by a signal (SIGSTOP, Ctrl-Z)",
    "frozen": "its container is frozen",
    "disk": "it waits for a disk or a network file system",
    "deadlock": "its main thread waits for a lock",
    "slow-data": "it waits for its data loader",
    "pool": "it waits for a pool of which a worker is gone",
    "collective": "it waits for the other ranks",
    "gpu": "it waits for the GPU, which is at work all the time",
    "gil": "native code holds Python's lock (GIL)",
    "busy": "it computes without logging",
}
ADVICE = {
    "stopped": "kill -CONT {pid} lets it go on",
    "frozen": "thaw the container (docker unpause, cgroup.freeze)",
    "pool": "stop it: a Pool never notices a killed worker; concurrent.futures raises BrokenProcessPool instead",
    "slow-data": "give the data loader a timeout, and look at its workers: py-spy dump --pid {pid} --subprocesses",
    "collective": "find the rank that is behind: its stacks say what it does",
}
MISMATCH = (
    "have all ranks call the same collectives in the same order: look for a condition that only some of them meet"
)
MOST_RANKS = 3
NOT_OWN = ("/lib/python", "site-packages", "dist-packages", "<frozen")
LOOK = "py-spy dump --pid {pid} shows the stacks of all threads"


def patience_s(progress: Progress, limits: Limits) -> float:
    """How long this run may be silent; infinite as long as it is not known how often it speaks."""
    usual = progress.usual_s
    if usual != usual or progress.is_at_rest:
        return math.inf
    phase = limits.stall_phase_times * progress.longest_s
    return max(limits.stall_least_s, limits.stall_times * usual, phase)


class Check:
    """Follows the rows of one run."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits

    def look(self, seen: Seen) -> Iterator[Caution]:
        """The stall, as long as it lasts."""
        silent_s = seen.now_s - seen.progress.last_s
        standing = seen.standing
        is_stopped = standing is not None and standing.kind in ("stopped", "frozen") and seen.progress.rows
        is_stopped = is_stopped and not seen.progress.is_at_rest
        patience = 2 * self._limits.stall_times if is_stopped else patience_s(seen.progress, self._limits)
        if not silent_s > patience:
            return
        usual = seen.progress.usual_s
        what = _what(standing)
        yield Caution(
            subject="",
            text=f"no row for {seconds(silent_s)}, usually one every {seconds(usual)}{what}",
            advice=_advice(standing),
            since_s=seen.progress.last_s,
            figures={"silent_s": silent_s, "usual_s": usual, "kind": standing.kind if standing is not None else ""},
        )


def _what(standing: Standing | None) -> str:
    if standing is not None and standing.is_mismatch:
        each = [f"rank {rank} is in {one.operation}{_at(one)}" for rank, one in standing.ranks[:MOST_RANKS]]
        return f": its ranks wait in collectives that do not match: {', '.join(each)}"
    if standing is not None and standing.ranks:
        named = [f"rank {rank} (process {each.pid}): {_one(each)}" for rank, each in standing.ranks[:MOST_RANKS]]
        more = f" and {len(standing.ranks) - MOST_RANKS} more" if len(standing.ranks) > MOST_RANKS else ""
        return f": the other ranks wait for {', '.join(named)}{more}"
    if standing is None or standing.kind not in WORDS:
        return _at(standing)
    return f": {_one(standing)}"


def _one(standing: Standing) -> str:
    return f"{WORDS.get(standing.kind, 'it stands still')}{_at(standing)}"


def _at(standing: Standing | None) -> str:
    """Where the main thread is: the innermost line of the program's own, if there is one."""
    lines = standing.stack.splitlines() if standing is not None else []
    main = [line.strip() for line in lines if line.startswith(" ")]
    first = main[: next((number for number, line in enumerate(lines[1:]) if not line.startswith(" ")), len(main))]
    own = next((line for line in first if not any(part in line for part in NOT_OWN)), first[0] if first else "")
    return f" ({own})" if own else ""


def _advice(standing: Standing | None) -> tuple[str, ...]:
    if standing is None:
        return ()
    if standing.is_mismatch:
        return MISMATCH, LOOK.format(pid=standing.pid)
    standing = standing.ranks[0][1] if standing.ranks else standing
    found = [ADVICE[standing.kind]] if standing.kind in ADVICE else []
    return tuple(each.format(pid=standing.pid) for each in (*found, LOOK))


def open_check(limits: Limits) -> Check:
    """The check of one run."""
    return Check(limits)
