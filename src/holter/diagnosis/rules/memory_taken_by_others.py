"""Most of the memory that ran out was held by processes that do not belong to the run.

Linux kills the process that holds the most at that moment, which may be the run although it did nothing unusual.

Run less alongside it, or ask for a limit of your own (a job, a container), so that others can't take what you need.
"""

import msgspec

from holter.diagnosis import facts, testimony, words
from holter.diagnosis.advice import advise
from holter.diagnosis.memory_reading import is_reached, tight_level
from holter.diagnosis.scarcity import lacked_memory
from holter.diagnosis.specimens import evidence, failed, signalled
from holter.model.evidence import Evidence, Holder, Memory, MemoryLevel
from holter.model.verdicts import Answer, Example, RuledOut, Verdict

CAUSE = "memory-taken-by-others"
CONTRIBUTES = True


def diagnose(evidence: Evidence) -> Answer:
    """Fires where memory ran out and other processes held more of it than the run."""
    memory = evidence.memory
    if not lacked_memory(evidence) or not memory.holders:
        return None
    held = [holder for holder in memory.holders if not holder.gpu]
    level = tight_level(evidence)
    is_cgroup = level is not None and is_reached(level)
    # What processes outside of a cgroup hold does not count towards its limit.
    others = [holder for holder in held if not holder.is_ours and (holder.is_within or not is_cgroup)]
    ours = max(sum(holder.rss_bytes for holder in held if holder.is_ours), memory.own_bytes or 0)
    theirs = sum(holder.rss_bytes for holder in others)
    at_ns = memory.holders_ns or evidence.subject.at_ns
    if theirs <= ours or not others:
        most = level.limit_bytes if level and is_cgroup else None  # its processes were seen at different times
        held_by_run = words.size(min(ours, most or ours))
        return RuledOut(cause=CAUSE, because=f"the run held {held_by_run} and all others {words.size(theirs)}")
    largest = max(others, key=lambda holder: holder.rss_bytes)
    alone = f"{largest.name} ({largest.pid}) alone {words.size(largest.rss_bytes)}"
    text = f"the run held {words.size(ours)}, others {words.size(theirs)}; {alone}"
    return Verdict(
        cause=CAUSE,
        confidence=0.85 if theirs > 2 * ours else 0.65,
        title=f"Other processes held {words.size(theirs)} of the memory, the run only {words.size(ours)}",
        because=testimony.few([facts.fact(facts.PROCESSES, at_ns, text), *facts.of_available(evidence)]),
        advice=advise(CAUSE, evidence),
    )


def _memory(ours: float, theirs: float, available: float) -> Memory:
    holders = (
        Holder(pid=900, name="java", rss_bytes=int(theirs)),
        Holder(pid=812, name="python", rss_bytes=int(ours), is_ours=True),
    )
    return Memory(total_bytes=64e9, available_bytes=available, swap_free_bytes=0, own_bytes=ours, holders=holders)


_FULL = (MemoryLevel(level=0, path="/job_7", limit_bytes=8e9, usage_bytes=8e9, kills=1, kills_lately=1),)

EXAMPLES = [
    Example(evidence(signalled(9), memory=_memory(9e9, 52e9, 3e8)), fires=True),
    Example(evidence(signalled(9), memory=_memory(60e9, 1e9, 3e8)), fires=False),
    # The run's own cgroup was full, and the large process was not in it.
    Example(
        evidence(signalled(9), memory=msgspec.structs.replace(_memory(6e9, 52e9, 40e9), levels=_FULL)), fires=False
    ),
    # There was room: whatever killed it, memory did not.
    Example(evidence(failed("ValueError", "bad label"), memory=_memory(1e9, 20e9, 40e9)), fires=False),
]
