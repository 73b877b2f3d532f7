"""The process had used up its CPU time limit, and Linux ended it.

The limit counts the seconds of all its threads together, so that a minute on 16 cores is 16 minutes. Login nodes set
such limits.

Lift the limit (`ulimit -t unlimited`), or run the training as a job instead of on a login node.
"""

import signal

from holter.diagnosis import facts, words
from holter.diagnosis.cpu_limits import has_no_cpu_limit, may_have_used_all
from holter.diagnosis.endings import Ending, ending_of
from holter.diagnosis.grades import COUNTED, INFERRED, NAMED
from holter.diagnosis.remedies.limits import raise_cpu_time
from holter.diagnosis.remedies.outside import resume
from holter.diagnosis.rivals import EVEN
from holter.model.evidence import Evidence
from holter.model.verdicts import Answer, Fact, Grade, RuledOut, Verdict

CAUSE = "cpu-time-limit"
ADVICE = (raise_cpu_time, resume)
WARNED_WITHIN_S = 5.0
SAMPLED_WITHIN_S = 1.5
SEEN, BY_STATUS, LIMITED, BY_USE, BY_AGE = NAMED, INFERRED, COUNTED, COUNTED, INFERRED


def diagnose(evidence: Evidence) -> Answer:
    """Fires on SIGXCPU that nobody sent, and on SIGKILL at the hard limit."""
    ending = ending_of(evidence)
    if ending is None:
        return None
    if ending.signal == signal.SIGXCPU and not ending.is_sent:
        if has_no_cpu_limit(evidence):
            return RuledOut(cause=CAUSE, because="it had no CPU time limit")
        grade = SEEN if ending.caught else LIMITED if _limit(evidence) is not None else BY_STATUS
        return _verdict(evidence, ending, min(grade, ending.certainty))
    if ending.signal == signal.SIGKILL and (_has_used_all(evidence) or _was_warned(evidence)):
        return _verdict(evidence, ending, min(BY_USE, ending.certainty))
    if ending.signal == signal.SIGKILL and may_have_used_all(evidence):
        return _verdict(evidence, ending, min(BY_AGE, ending.certainty))
    return None


def _limit(evidence: Evidence) -> int | None:
    return evidence.surroundings.cpu_limit_s if evidence.surroundings else None


def _has_used_all(evidence: Evidence) -> bool:
    limit, used = _limit(evidence), _used(evidence)
    return limit is not None and used is not None and limit - SAMPLED_WITHIN_S <= used <= limit + 5


def _used(evidence: Evidence) -> float | None:
    """CPU time until the end, or until the last sample before it."""
    end = evidence.subject
    return end.cpu_s if end.cpu_s is not None else evidence.surroundings.cpu_used_s if evidence.surroundings else None


def _was_warned(evidence: Evidence) -> bool:
    """The kernel sends SIGXCPU each second from the soft limit on, and SIGKILL at the hard one."""
    end = evidence.subject
    warning = end.caught(signal.SIGXCPU)
    return warning is not None and not warning.is_sent and (end.at_ns - warning.at_ns) / 1e9 < WARNED_WITHIN_S


def _verdict(evidence: Evidence, ending: Ending, grade: Grade, /) -> Verdict:
    end, limit = evidence.subject, _limit(evidence)
    of = f" of {limit:,} s" if limit is not None else ""
    return Verdict(
        cause=CAUSE,
        grade=grade,
        title=words.sentence(f"{words.process(end)} used up its CPU time limit{of}"),
        because=(*_facts(evidence, ending), facts.of_status(end)),
    )


def _facts(evidence: Evidence, ending: Ending) -> list[Fact]:
    end, limit = evidence.subject, _limit(evidence)
    seen = ending.caught or end.caught(signal.SIGXCPU)
    found = [facts.of_signal(seen)] if seen else []
    used = _used(evidence)
    if used is not None:
        found.append(facts.fact(facts.SAMPLES, end.at_ns, f"it had used {words.seconds(used)} of CPU time"))
    if limit is not None:
        found.append(facts.fact(facts.LIMITS, end.at_ns, f"its CPU time limit is {limit:,} s (RLIMIT_CPU)"))
    return found


def hides_behind(verdict: Verdict, evidence: Evidence) -> Grade | None:
    """At the hard limit Linux kills; nobody knows how much of it a child had used."""
    return EVEN if verdict.cause == "killed" and may_have_used_all(evidence) else None
