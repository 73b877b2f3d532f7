"""The machine went down while the run was alive: a reboot, a system crash, or a power failure.

The machine has booted again since the run was recorded, and nobody saw the program end. A machine that was rebooted
long after the run had ended is no cause.

Ask whoever runs the machine, and continue from the last checkpoint.
"""

from holter.diagnosis import facts, testimony, words
from holter.diagnosis.grades import CONSISTENT, COUNTED, INFERRED, NAMED
from holter.diagnosis.remedies.outside import resume
from holter.model.evidence import Evidence, HostEnd, Unseen
from holter.model.verdicts import Answer, Fact, Grade, NotObservable, RuledOut, Verdict

CAUSE = "host-lost"
ADVICE = ("ask whoever runs the machine why it went down; last -x and journalctl -b -1 tell more", resume)
UNWATCHED = CONSISTENT
"""Without a sidecar, which would have seen it, the program may have ended some moments before."""
RETURN_S = 1200.0
"""A machine is back within this time after it went down, most often."""
_STATES = ("NODE_FAIL", "BOOT_FAIL")


def diagnose(evidence: Evidence) -> Answer:
    """Fires where the boot is another and nobody saw the end, or where the scheduler says that the node failed."""
    end = evidence.subject
    if end.status is not None or end.raised is not None or end.finished is not None or end.is_alive:
        return None
    job, host = evidence.job, evidence.host
    is_node = job is not None and job.state.upper() in _STATES
    if host is None or host.boot_id_now is None:
        return _verdict(evidence, COUNTED) if is_node else _not_observable(evidence)
    if host.boot_id_now != host.boot_id and host.boot_id:
        return _verdict(evidence, _grade(evidence, host))
    return _verdict(evidence, COUNTED) if is_node else _ruled_out(evidence)


def _grade(evidence: Evidence, host: HostEnd) -> Grade:
    """A machine that began again hours after the last sign of life may have gone down long after the program."""
    if host.booted_ns is None:
        return CONSISTENT
    if (host.booted_ns - evidence.subject.at_ns) / 1e9 > RETURN_S:
        return INFERRED
    return NAMED if evidence.memory.sampled_ns is not None else UNWATCHED


def _verdict(evidence: Evidence, grade: Grade) -> Verdict:
    end = evidence.subject
    host = f" ({end.host})" if end.host else ""
    step = f", at step {end.last_step:,}" if end.last_step is not None else ""
    return Verdict(
        cause=CAUSE,
        grade=grade,
        title=f"The machine{host} {_how(evidence)} while the run was alive{step}",
        because=testimony.few([*_because(evidence), *testimony.of_steps(end)]),
    )


def _how(evidence: Evidence) -> str:
    host = evidence.host
    if host is not None and host.panic:
        return "crashed with a Linux kernel panic"
    if host is not None and host.last_shutdown == "clean":
        return "was shut down or rebooted"
    return "went down without a shutdown" if host is not None and host.last_shutdown == "crash" else "went down"


def _because(evidence: Evidence) -> list[Fact]:
    end, host, job = evidence.subject, evidence.host, evidence.job
    found = []
    if host is not None and host.boot_id_now and host.boot_id_now != host.boot_id:
        at_ns = host.booted_ns or end.at_ns
        after = (
            f", which began {words.seconds((at_ns - end.at_ns) / 1e9)} after the last sign of life"
            if host.booted_ns
            else ""
        )
        text = (
            f"the run was recorded in boot {host.boot_id[:8]}; the machine is now in boot {host.boot_id_now[:8]}{after}"
        )
        found.append(facts.fact("boot", at_ns, text))
    if host is not None and host.panic:
        found.append(facts.fact("boot", end.at_ns, f"Linux left behind: {words.quote(host.panic, 160)}"))
    if host is not None and host.last_shutdown:
        found.append(facts.fact("login records", end.at_ns, f"the last boot ended with: {host.last_shutdown}"))
    if job is not None and job.state:
        found.append(facts.fact(facts.SCHEDULER, end.at_ns, f"job {job.job} is {job.state}"))
    return [*found, facts.of_status(end)]


def _ruled_out(evidence: Evidence) -> RuledOut | None:
    host = evidence.host
    if host is None or not host.boot_id or evidence.subject.role == "child":
        return None
    return RuledOut(cause=CAUSE, because=f"the machine has not rebooted since the run began (boot {host.boot_id[:8]})")


def _not_observable(evidence: Evidence) -> NotObservable | None:
    if not evidence.is_late:
        return None
    unseen = evidence.unseen.get("host", Unseen(because="the run's machine can't be looked at from here"))
    name = evidence.subject.host or "the run's machine"
    return NotObservable(cause=CAUSE, because=unseen.because, remedy=unseen.remedy or f"run `holter why` on {name}")
