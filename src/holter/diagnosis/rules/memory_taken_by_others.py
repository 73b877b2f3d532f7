"""Most of the memory that ran out was held by processes that do not belong to the run.

Linux kills the process that holds the most at that moment, which may be the run although it did nothing unusual.

Run less alongside it, or ask for a limit of your own (a job, a container), so that others can't take what you need.
"""

from holter.diagnosis import facts, words
from holter.diagnosis.grades import CONSISTENT, INFERRED
from holter.diagnosis.kills import lacked_memory
from holter.diagnosis.memory_reading import is_reached, tight_level
from holter.diagnosis.remedies import memory as against
from holter.model.evidence import Evidence
from holter.model.verdicts import Answer, RuledOut, Verdict

ADVICE = (against.end_the_neighbour,)
CURVES = ("cgroup-0", "rss", "host-memory")
CONTRIBUTES = True


def diagnose(evidence: Evidence) -> Answer:
    """Fires where memory ran out and other processes held more of it than the run."""
    memory, level = evidence.memory, tight_level(evidence)
    if not lacked_memory(evidence) or not memory.holders:
        return None
    held = [holder for holder in memory.holders if not holder.gpu]
    is_cgroup = level is not None and is_reached(level)
    # What processes outside of a cgroup hold does not count towards its limit.
    others = [holder for holder in held if not holder.is_ours and (holder.is_within or not is_cgroup)]
    ours = max(sum(holder.rss_bytes for holder in held if holder.is_ours), memory.own_bytes or 0)
    theirs = sum(holder.rss_bytes for holder in others)
    if theirs <= ours or not others:
        most = level.limit_bytes if level and is_cgroup else None  # its processes were seen at different times
        own = words.size(min(ours, most or ours))
        return RuledOut(because=f"the run held {own} and all others {words.size(theirs)}")
    largest = max(others, key=lambda holder: holder.rss_bytes)
    alone = f"{largest.name} ({largest.pid}) alone {words.size(largest.rss_bytes)}"
    text = f"the run held {words.size(ours)}, others {words.size(theirs)}; {alone}"
    found = facts.fact(facts.PROCESSES, memory.holders_ns or evidence.subject.at_ns, text)
    title = f"Other processes held {words.size(theirs)} of the memory, the run only {words.size(ours)}"
    return Verdict(CONSISTENT if theirs > 2 * ours else INFERRED, title, [found, facts.of_available(evidence)])
