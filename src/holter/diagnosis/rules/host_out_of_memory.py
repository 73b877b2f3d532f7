"""The machine itself ran out of memory, and Linux killed this process to free some.

No container or job reached its limit: all programs on the machine together needed more than it has. Linux picks the
process with the most memory, which is often the training and not the one that grew.

See what else holds memory on the machine, use less of it (fewer workers, smaller batches, streamed data), or move to a
machine with more.
"""

from holter.diagnosis import facts, kills, words
from holter.diagnosis.grades import CONSISTENT, COUNTED, INFERRED, NAMED
from holter.diagnosis.remedies import memory, outside
from holter.model.evidence import Evidence
from holter.model.verdicts import Answer, Grade, NotObservable, RuledOut, Verdict

EXCLUDES = ("killed",)
ADVICE = (
    memory.end_the_neighbour,
    *memory.LESS_MEMORY,
    memory.more_machine_memory,
    memory.SMALLER_NUMBERS,
    outside.resume,
)
CURVES = ("host-memory", "rss")
OF_THE_MACHINE = ("CONSTRAINT_NONE", "CONSTRAINT_CPUSET", "CONSTRAINT_MEMORY_POLICY")


def diagnose(evidence: Evidence) -> Answer:
    """Fires where the kernel log says so, or where a kill was counted while next to no memory was left."""
    kill = kills.kill_of(evidence)
    if kill is None:
        return None
    if kill.report is not None:
        return _verdict(evidence, kill, NAMED) if kill.report.constraint in OF_THE_MACHINE else None
    if kill.host_kills == 0:
        return RuledOut(because=kills.NOBODY_KILLED)
    if kills.is_others_kill(kill):
        return RuledOut(because="the Linux kernel log says that others were killed for memory")
    is_short = kills.is_scarce(evidence)
    if is_short is False:
        available, total = evidence.memory.available_bytes or 0, evidence.memory.total_bytes or 0
        size = f"{words.size(available)} of the machine's {words.size(total)}"
        return RuledOut(because=f"{size} was available in the last sample")
    grade = _grade(evidence, kill, is_measured=is_short is not None)
    if grade is not None:
        return _verdict(evidence, kill, grade)
    if kill.host_kills is None and kill.counted is None:
        return NotObservable(
            because="neither Linux's counters nor the Linux kernel log could be read",
            remedy="let holter read /proc/vmstat, and its user the Linux kernel log (kernel.dmesg_restrict=0)",
        )
    return None


def _grade(evidence: Evidence, kill: kills.Kill, *, is_measured: bool) -> Grade | None:
    """None where it does not fire."""
    if kills.has_reached_limit(evidence):
        return None
    if not is_measured:
        has_limit = any(level.limit_bytes for level in evidence.memory.levels)
        return INFERRED if kill.counted and not has_limit else None
    if kill.counted:
        return min(COUNTED, kill.ending.certainty)
    if not kill.host_kills:
        return None
    return min(CONSISTENT, kill.ending.certainty) if kill.counted is None else INFERRED


def _verdict(evidence: Evidence, kill: kills.Kill, grade: Grade, /) -> Verdict:
    end = evidence.subject
    size = words.sized(" of {}", evidence.memory.total_bytes)
    found = [facts.of_oom_kill(kill.report)]
    if kill.report is None:
        found = [facts.of_kills(kill.own, end.at_ns) if kill.own and kill.own.kills else None]
        rose = f"the machine's oom_kill rose by {kill.host_kills} since the run began"
        found.append(facts.fact(facts.LINUX, end.at_ns, rose) if kill.host_kills else None)
    found += [facts.of_available(evidence), facts.of_end(end), facts.of_holders(evidence), facts.of_own(evidence)]
    return Verdict(grade, f"the machine ran out of its memory{size}, and Linux killed {words.process(end)}", found)
