"""Somebody ended the process by force: with SIGKILL, or by sending it a signal that is fatal.

A person with `kill -9`, a script, `timeout -s KILL`, an IDE, a service manager, the process's own parent. SIGKILL can't
be caught and does not say who sent it; that it was not Linux, for memory, is known from Linux's own counters. A signal
that enforces a limit without a cause of its own here, such as SIGXFSZ for the size of a file, counts as sent by Linux.

Ask who can end processes on this machine; save checkpoints, and continue from the last one.
"""

import signal

from holter.diagnosis import crashes, endings, facts, kills, words
from holter.diagnosis.advice import advise
from holter.diagnosis.grades import CONSISTENT, COUNTED, INFERRED, LIKELY, NAMED, OPEN, REMOTE
from holter.diagnosis.limits import has_no_cpu_limit
from holter.diagnosis.remedies import limits, outside
from holter.diagnosis.scheduling import says_out_of_memory
from holter.model.evidence import Caught, Evidence
from holter.model.verdicts import Answer, Fact, Grade, RuledOut, Verdict

GENERALITY = 1
ADVICE = (
    outside.ask_sender,
    "find out who ends processes here: a colleague, a script, timeout(1), an IDE, a service manager or its parent",
    outside.resume,
)
ASKED_WITHIN_NS = 600_000_000_000
_OTHER_RULES = frozenset((*endings.FAULTS[:5], signal.SIGXCPU))
_AMBIGUOUS = frozenset({signal.SIGQUIT, signal.SIGTRAP, signal.SIGSYS})
"""Typed at a terminal, or raised by the program itself, they have other names."""
_ASKED = frozenset({signal.SIGTERM, signal.SIGINT, signal.SIGHUP})
_REASONS: dict[int, str] = {
    signal.SIGXFSZ: "a file had reached its size limit",
    signal.SIGPIPE: "nobody was reading its output any more",
    signal.SIGALRM: "a timer that it had set ran out",
    signal.SIGSYS: "it made a system call that is not allowed here",
}


def diagnose(evidence: Evidence) -> Answer:
    """Fires on SIGKILL unless Linux's counters have it, and on fatal signals that another process sent."""
    kill = kills.kill_of(evidence)
    if kill is not None:
        return _of_kill(evidence, kill)
    ending = endings.ending_of(evidence)
    if ending is None:
        return endings.unseen(evidence, "SIGKILL")
    if ending.signal in _ASKED:
        return None
    who, name = words.process(evidence.subject), words.signal(ending.signal)
    if ending.is_sent and ending.caught is not None:
        is_own = ending.caught.sender_pid == ending.caught.pid
        by = f"{facts.sender_of(ending.caught, evidence.senders)} ended {who} by sending it {name}"
        return _verdict(evidence, NAMED, f"{who} sent itself {name}" if is_own else by, ending)
    if crashes.is_untold(evidence, ending):  # Linux leaves lines out where it would have to write too many
        return _verdict(evidence, CONSISTENT, f"somebody sent {who} {name}; the program was not at fault", ending)
    if _is_of_another_rule(evidence, ending):
        return None
    reason = _REASONS.get(ending.signal, "nobody saw who sent it")
    grade = LIKELY if ending.signal in _AMBIGUOUS else COUNTED
    return _verdict(evidence, grade, f"{name} ended {who}: {reason}", ending)


def _is_of_another_rule(evidence: Evidence, ending: endings.Ending) -> bool:
    if ending.signal == signal.SIGXFSZ and evidence.subject.role == "child":
        return True  # nobody killed it: it reached a limit, which has no name but its death
    if ending.signal == signal.SIGXCPU and ending.caught is None and has_no_cpu_limit(evidence):
        return False
    return ending.signal in _OTHER_RULES or (ending.signal == signal.SIGQUIT and ending.caught is not None)


def _of_kill(evidence: Evidence, kill: kills.Kill) -> Answer:
    if kill.report is not None:
        return RuledOut(because="the Linux kernel log says that Linux killed it for memory")
    if kill.counted is None and says_out_of_memory(evidence):
        return RuledOut(because="the scheduler says that it was for memory")
    grade = _grade(evidence, kill)
    if grade is None:
        under = "Linux killed for memory under its limit (cgroup)"
        return RuledOut(because=f"{under}, and the run held enough to be the victim")
    if _has_silent_scheduler(evidence):  # it kills, too
        grade = min(grade, LIKELY)
    end, asked, after = evidence.subject, _request(evidence), ""
    if asked is not None:
        by = facts.sender_of(asked, evidence.senders) if asked.is_sent else "Linux"
        after = f", {words.seconds(max(0.0, (end.at_ns - asked.at_ns) / 1e9))} after {by} had sent it SIGTERM"
    is_known = kill.is_not_for_memory or kills.is_others_kill(kill)
    known = "; it was not Linux freeing memory" if is_known else ""
    return _verdict(evidence, grade, f"somebody killed {words.process(end)} with SIGKILL{after}{known}", kill.ending)


def _grade(evidence: Evidence, kill: kills.Kill) -> Grade | None:
    """None where Linux did it."""
    if kills.is_others_kill(kill):
        return COUNTED
    if kill.counted == 0 and kill.host_kills and kills.is_scarce(evidence) and not kill.has_log:
        return INFERRED  # a cgroup may be gone with its counter, and the machine did kill for memory
    if kill.counted == 0:
        return NAMED if kill.has_log else COUNTED
    if kill.counted:
        return _beside_a_kill(evidence)
    if kill.host_kills == 0:
        return COUNTED
    return CONSISTENT if kill.has_log else INFERRED


def _beside_a_kill(evidence: Evidence) -> Grade | None:
    """Linux killed somebody for memory, in the same cgroup and at the same time."""
    if not kills.has_greater_neighbour(evidence) and kills.is_plausible(evidence):
        return None
    is_small = kills.is_too_small(evidence) and not kills.has_greater_neighbour(evidence)
    return LIKELY if is_small else REMOTE


def _has_silent_scheduler(evidence: Evidence) -> bool:
    """A job of which the scheduler did not say how it ended."""
    if evidence.job is not None:
        return not evidence.job.state and not evidence.job.said
    return bool(evidence.facts.get("schedulers")) or evidence.facts.get("container") == "kubernetes"


def _request(evidence: Evidence) -> Caught | None:
    """That it was asked to leave before."""
    asked = evidence.subject.caught(signal.SIGTERM)
    return asked if asked is not None and evidence.subject.at_ns - asked.at_ns < ASKED_WITHIN_NS else None


def _verdict(evidence: Evidence, grade: Grade, title: str, ending: endings.Ending, /) -> Verdict:
    end = evidence.subject
    silent = facts.fact(facts.KERNEL_LOG, end.at_ns, "Linux logs such faults, and has none of this process")
    found = [facts.of_signal(ending.caught, evidence.senders), facts.of_end(end)]
    found += [silent if crashes.is_untold(evidence, ending) else None, *_of_memory(evidence, ending)]
    extra = [limits.raise_file_size] if ending.signal == signal.SIGXFSZ else []
    return Verdict(min(grade, ending.certainty), title, found, advice=advise(evidence, extra))


def _of_memory(evidence: Evidence, ending: endings.Ending) -> list[Fact | None]:
    """Why a SIGKILL was not for memory."""
    if ending.signal != signal.SIGKILL:
        return []
    end, kill = evidence.subject, kills.kill_of(evidence)
    own = next((level for level in evidence.memory.levels if level.level == 0 and level.kills is not None), None)
    unmoved = facts.fact(facts.LINUX, end.at_ns, kills.NOBODY_KILLED) if evidence.memory.host_kills == 0 else None
    others = [facts.of_oom_kill(each) for each in (kill.others[:1] if kill else ())]
    asked = facts.of_signal(_request(evidence), evidence.senders)
    return [facts.of_kills(own, end.at_ns), unmoved, asked, *others, facts.of_own(evidence)]


def hides_behind(verdict: Verdict, evidence: Evidence) -> Grade | None:
    """A fatal signal may come from a fault or from anybody; the exit status is the same."""
    ending = endings.ending_of(evidence)
    if ending is None or ending.signal not in endings.FAULTS:
        return None
    has_more = any(fact.source not in (facts.EXIT_STATUS, facts.FAULT_LOG) for fact in verdict.facts)
    is_seen = ending.caught is not None or ending.is_bypassed
    return None if is_seen or has_more else OPEN
