"""What becomes of a trial that died: a table by cause, which a sweep may change with `on_death`."""

from holter.errors import UsageError

AGAIN, INFEASIBLE, PRUNED, FAIL, STOP = "again", "infeasible", "pruned", "fail", "stop"
QUARANTINE, PAUSE_HOST = "quarantine", "pause-host"
FATES = {
    AGAIN: "the same trial again, elsewhere where there is another agent",
    QUARANTINE: "again, and its GPU gets no more trials of this sweep",
    PAUSE_HOST: "again, and the agents of its host pause",
    INFEASIBLE: "it does not fit: the search avoids what is like it",
    PRUNED: "ended with its last finite value",
    FAIL: "failed; at the same place three times, the sweep stops",
    STOP: "failed, and the sweep stops",
}
SAME_PLACE = 3

_TABLE = {
    INFEASIBLE: (
        "host-out-of-memory cgroup-out-of-memory gpu-out-of-memory allocation-refused shared-memory-full"
        " userspace-oom-killer memory-pressure"
    ),
    AGAIN: (
        "killed terminated interrupted hangup scheduler-preempted scheduler-time-limit scheduler-cancelled host-lost"
        " connection-lost stalled collective-timeout unknown agent-lost kernel-restarted kernel-shut-down"
    ),
    QUARANTINE: "gpu-fault gpu-overheated memory-fault storage-fault",
    PAUSE_HOST: "disk-full",
    PRUNED: "diverged",
}
_FATES = {cause: fate for fate, causes in _TABLE.items() for cause in causes.split()}
AGENT_LOST = "agent-lost"
"""No verdict: the agent is gone, and nobody can say more of the run."""
OWN_CAUSES = (AGENT_LOST,)


def fate_of(cause: str, table: dict[str, str]) -> str:
    """What follows: by the sweep's own table, then by ours; what it does not name is the program's own doing."""
    return table.get(cause) or _FATES.get(cause, FAIL)


def check_cause(cause: str) -> None:
    """Raise UsageError for what is no cause."""
    if cause in OWN_CAUSES:
        return
    from holter.diagnosis.loading import find_rule  # some fifty files

    try:
        find_rule(cause)
    except UsageError as error:
        raise UsageError(f"{error}; or {', '.join(OWN_CAUSES)}") from None
