"""The machine went down while the run was alive: a reboot, a system crash, or a power failure.

The machine has booted again since the run was recorded, and nobody saw the program end. A machine that was rebooted
long after the run had ended is no cause.

Ask whoever runs the machine, and continue from the last checkpoint.
"""

from holter.diagnosis import facts, words
from holter.diagnosis.causality.ends import at_step
from holter.diagnosis.grades import CONSISTENT, COUNTED, INFERRED, NAMED
from holter.diagnosis.remedies import outside
from holter.model.evidence import Evidence, HostEnd
from holter.model.verdicts import Answer, Fact, Grade, RuledOut, Verdict

ADVICE = ("ask whoever runs the machine why it went down; last -x and journalctl -b -1 tell more", outside.resume)
RETURN_S = 1200.0
"""A machine is back within this time after it went down, most often."""
_STATES = ("NODE_FAIL", "BOOT_FAIL")


def diagnose(evidence: Evidence) -> Answer:
    """Fires where the boot is another and nobody saw the end, or where the scheduler says that the node failed."""
    end, job, host = evidence.subject, evidence.job, evidence.host or HostEnd()
    if end.status is not None or end.raised is not None or end.finished is not None or end.is_alive:
        return None
    if host.boot_id_now is not None and host.boot_id_now != host.boot_id and host.boot_id:
        return _verdict(evidence, host, _grade(evidence, host))
    if job is not None and job.state.upper() in _STATES:
        return _verdict(evidence, host, COUNTED)
    if host.boot_id_now is not None and host.boot_id and end.role != "child":
        return RuledOut(because=f"the machine has not rebooted since the run began (boot {host.boot_id[:8]})")
    if host.boot_id_now is not None or not evidence.is_late:
        return None
    machine = end.host or "the run's machine"
    because = "the run's machine can't be looked at from here"
    return facts.not_observable(evidence, "host", because=because, remedy=f"run `holter why` on {machine}")


def _grade(evidence: Evidence, host: HostEnd) -> Grade:
    """A machine that began again hours after the last sign of life may have gone down long after the program; and
    without a sidecar, which would have seen it, the program may have ended some moments before."""
    if host.booted_ns is not None and (host.booted_ns - evidence.subject.at_ns) / 1e9 > RETURN_S:
        return INFERRED
    return NAMED if host.booted_ns is not None and evidence.memory.sampled_ns is not None else CONSISTENT


def _verdict(evidence: Evidence, host: HostEnd, grade: Grade, /) -> Verdict:
    end, job = evidence.subject, evidence.job
    how = {"clean": "was shut down or rebooted", "crash": "went down without a shutdown"}
    manner = "crashed with a Linux kernel panic" if host.panic else how.get(host.last_shutdown, "went down")
    found = [
        _of_boot(evidence, host),
        facts.fact("boot", end.at_ns, f"Linux left behind: {words.quote(host.panic, 160)}") if host.panic else None,
        facts.fact("login records", end.at_ns, f"the last boot ended with: {host.last_shutdown}")
        if host.last_shutdown
        else None,
        facts.fact(facts.SCHEDULER, end.at_ns, f"job {job.job} is {job.state}") if job and job.state else None,
        facts.of_status(end),
        facts.of_steps(end),
    ]
    name = words.told(" ({})", end.host)
    return Verdict(grade, f"The machine{name} {manner} while the run was alive{at_step(end)}", found)


def _of_boot(evidence: Evidence, host: HostEnd) -> Fact | None:
    if not host.boot_id_now or host.boot_id_now == host.boot_id:
        return None
    at_ns = host.booted_ns or evidence.subject.at_ns
    late = words.seconds((at_ns - evidence.subject.at_ns) / 1e9)
    after = f", which began {late} after the last sign of life" if host.booted_ns else ""
    boots = f"the run was recorded in boot {host.boot_id[:8]}; the machine is now in boot {host.boot_id_now[:8]}"
    return facts.fact("boot", at_ns, boots + after)
