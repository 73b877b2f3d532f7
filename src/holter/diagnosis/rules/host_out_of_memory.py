"""The machine itself ran out of memory, and Linux killed this process to free some.

No container or job reached its limit: all programs on the machine together needed more than it has. Linux picks the
process with the most memory, which is often the training and not the one that grew.

See what else holds memory on the machine, use less of it (fewer workers, smaller batches, streamed data), or move to a
machine with more.
"""

from holter.diagnosis import facts, words
from holter.diagnosis.grades import CONSISTENT, COUNTED, INFERRED, NAMED
from holter.diagnosis.kills import Kill, has_reached_limit, is_others_kill, is_scarce, kill_of
from holter.diagnosis.remedies.memory import LESS_MEMORY, SMALLER_NUMBERS, end_the_neighbour, more_machine_memory
from holter.diagnosis.remedies.outside import resume
from holter.model.evidence import Evidence
from holter.model.verdicts import Answer, Fact, Grade, NotObservable, RuledOut, Verdict

CAUSE = "host-out-of-memory"
EXCLUDES = ("killed",)
ADVICE = (end_the_neighbour, *LESS_MEMORY, more_machine_memory, SMALLER_NUMBERS, resume)
CURVES = ("host-memory", "rss")
OF_THE_MACHINE = ("CONSTRAINT_NONE", "CONSTRAINT_CPUSET", "CONSTRAINT_MEMORY_POLICY")
MACHINE_COUNTED, ELSEWHERE, UNMEASURED = CONSISTENT, INFERRED, INFERRED


def diagnose(evidence: Evidence) -> Answer:
    """Fires where the kernel's log says so, or where a kill was counted while next to no memory was left."""
    kill = kill_of(evidence)
    if kill is None:
        return None
    if kill.report is not None:
        return _verdict(evidence, kill, NAMED) if kill.report.constraint in OF_THE_MACHINE else None
    if kill.host_kills == 0:
        return RuledOut(
            cause=CAUSE,
            because="Linux killed nothing on this machine for memory since the run began (oom_kill did not move)",
        )
    if is_others_kill(kill):
        return RuledOut(cause=CAUSE, because="the Linux kernel log says that others were killed for memory")
    is_short = is_scarce(evidence)
    if is_short is False:
        return _plenty(evidence)
    grade = _grade(evidence, kill, is_measured=is_short is not None)
    if grade is not None:
        return _verdict(evidence, kill, grade)
    if kill.host_kills is None and kill.counted is None:
        return NotObservable(
            cause=CAUSE,
            because="neither Linux's counters nor the Linux kernel log could be read",
            remedy="let holter read /proc/vmstat, and its user the Linux kernel log (kernel.dmesg_restrict=0)",
        )
    return None


def _grade(evidence: Evidence, kill: Kill, *, is_measured: bool) -> Grade | None:
    """None where it does not fire."""
    if has_reached_limit(evidence):
        return None
    if not is_measured:
        has_limit = any(level.limit_bytes for level in evidence.memory.levels)
        return UNMEASURED if kill.counted and not has_limit else None
    if kill.counted:
        return min(COUNTED, kill.ending.certainty)
    if not kill.host_kills:
        return None
    return min(MACHINE_COUNTED, kill.ending.certainty) if kill.counted is None else ELSEWHERE


def _plenty(evidence: Evidence) -> RuledOut:
    available, total = evidence.memory.available_bytes or 0, evidence.memory.total_bytes or 0
    because = f"{words.size(available)} of the machine's {words.size(total)} was available in the last sample"
    return RuledOut(cause=CAUSE, because=because)


def _verdict(evidence: Evidence, kill: Kill, grade: Grade, /) -> Verdict:
    total = evidence.memory.total_bytes
    size = f" of {words.size(total)}" if total else ""
    end, memory = evidence.subject, evidence.memory
    at_ns = memory.sampled_ns or end.at_ns
    return Verdict(
        cause=CAUSE,
        grade=grade,
        title=words.sentence(f"the machine ran out of its memory{size}, and Linux killed {words.process(end)}"),
        because=(
            *_kernel_facts(kill, end.at_ns),
            *facts.of_available(evidence),
            facts.of_status(end) if end.status is not None else facts.of_absence(end),
            *facts.of_holders(memory.holders, memory.holders_ns or at_ns),
            *facts.of_own(evidence),
        )[:5],
    )


def _kernel_facts(kill: Kill, at_ns: int) -> list[Fact]:
    if kill.report:
        return [facts.of_oom_kill(kill.report)]
    found = [facts.of_kills(kill.own, at_ns)] if kill.own and kill.own.kills else []
    if kill.host_kills:
        text = f"the machine's oom_kill rose by {kill.host_kills} since the run began"
        found.append(facts.fact(facts.KERNEL, at_ns, text))
    return found
