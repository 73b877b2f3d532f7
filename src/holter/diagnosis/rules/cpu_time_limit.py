"""The process had used up its CPU time limit, and Linux ended it.

The limit counts the seconds of all its threads together, so that a minute on 16 cores is 16 minutes. Login nodes set
such limits.

Lift the limit (`ulimit -t unlimited`), or run the training as a job instead of on a login node.
"""

import signal

from holter.diagnosis import facts, words
from holter.diagnosis.endings import Ending, ending_of
from holter.diagnosis.grades import COUNTED, EVEN, INFERRED, NAMED
from holter.diagnosis.limits import has_no_cpu_limit, may_have_used_all
from holter.diagnosis.remedies import limits, outside
from holter.model.evidence import Evidence
from holter.model.verdicts import Answer, Grade, RuledOut, Verdict

ADVICE = (limits.raise_cpu_time, outside.resume)
WARNED_WITHIN_S = 5.0
SAMPLED_WITHIN_S = 1.5


def diagnose(evidence: Evidence) -> Answer:
    """Fires on SIGXCPU that nobody sent, and on SIGKILL at the hard limit."""
    ending = ending_of(evidence)
    if ending is None:
        return None
    if ending.signal == signal.SIGXCPU and not ending.is_sent:
        if has_no_cpu_limit(evidence):
            return RuledOut(because="it had no CPU time limit")
        unseen = COUNTED if evidence.around.cpu_limit_s is not None else INFERRED
        return _verdict(evidence, ending, NAMED if ending.caught else unseen)
    if ending.signal == signal.SIGKILL and (_has_used_all(evidence) or _was_warned(evidence)):
        return _verdict(evidence, ending, COUNTED)
    may_be = ending.signal == signal.SIGKILL and may_have_used_all(evidence)
    return _verdict(evidence, ending, INFERRED) if may_be else None


def _has_used_all(evidence: Evidence) -> bool:
    limit, used = evidence.around.cpu_limit_s, _used(evidence)
    return limit is not None and used is not None and limit - SAMPLED_WITHIN_S <= used <= limit + 5


def _used(evidence: Evidence) -> float | None:
    """CPU time until the end, or until the last sample before it."""
    return evidence.subject.cpu_s if evidence.subject.cpu_s is not None else evidence.around.cpu_used_s


def _was_warned(evidence: Evidence) -> bool:
    """Linux sends SIGXCPU each second from the soft limit on, and SIGKILL at the hard one."""
    end = evidence.subject
    warning = end.caught(signal.SIGXCPU)
    return warning is not None and not warning.is_sent and (end.at_ns - warning.at_ns) / 1e9 < WARNED_WITHIN_S


def _verdict(evidence: Evidence, ending: Ending, grade: Grade, /) -> Verdict:
    end, limit, used = evidence.subject, evidence.around.cpu_limit_s, _used(evidence)
    had = f"it had used {words.seconds(used or 0)} of CPU time"
    found = [
        facts.of_signal(ending.caught or end.caught(signal.SIGXCPU)),
        facts.fact(facts.SAMPLES, end.at_ns, had) if used is not None else None,
        facts.fact(facts.LIMITS, end.at_ns, f"its CPU time limit is {limit:,} s (RLIMIT_CPU)") if limit else None,
        facts.of_status(end),
    ]
    of = words.told(" of {:,} s", limit)
    return Verdict(min(grade, ending.certainty), f"{words.process(end)} used up its CPU time limit{of}", found)


def hides_behind(verdict: Verdict, evidence: Evidence) -> Grade | None:
    """At the hard limit Linux kills; nobody knows how much of it a child had used."""
    return EVEN if verdict.cause == "killed" and may_have_used_all(evidence) else None
