"""Somebody ended the process by force: with SIGKILL, or by sending it a signal that is fatal.

A person with `kill -9`, a script, `timeout -s KILL`, an IDE, a service manager, the process's own parent. SIGKILL can't
be caught and does not say who sent it; that it was not Linux, for memory, is known from Linux's own counters. A signal
that enforces a limit without a cause of its own here, such as SIGXFSZ for the size of a file, counts as sent by Linux.

Ask who can end processes on this machine; save checkpoints, and continue from the last one.
"""

import signal

from holter.diagnosis import facts, words
from holter.diagnosis.advice import advise
from holter.diagnosis.cpu_limits import has_no_cpu_limit
from holter.diagnosis.crashes import is_untold
from holter.diagnosis.endings import FAULTS, UNSEEN_END, Ending, ending_of, how_to_see_the_end, is_silent
from holter.diagnosis.grades import CONSISTENT, COUNTED, INFERRED, LIKELY, NAMED, REMOTE
from holter.diagnosis.kills import (
    Kill,
    has_greater_neighbour,
    is_others_kill,
    is_plausible,
    is_scarce,
    is_too_small,
    kill_of,
)
from holter.diagnosis.remedies import limits
from holter.diagnosis.remedies.outside import ask_sender, resume
from holter.diagnosis.rivals import OPEN
from holter.diagnosis.scheduling import says_out_of_memory
from holter.model.evidence import Evidence
from holter.model.verdicts import Answer, Fact, Grade, NotObservable, RuledOut, Verdict

CAUSE = "killed"
GENERALITY = 1
ADVICE = (
    ask_sender,
    "find out who ends processes here: a colleague, a script, timeout(1), an IDE, a service manager or its parent",
    resume,
)
SENT, UNMOVED_AND_LOGGED, UNMOVED, NOBODY, OTHERS = NAMED, NAMED, COUNTED, COUNTED, COUNTED
LOGGED_ONLY, UNSEEN, EITHER, SMALL, UNLIKELY = CONSISTENT, INFERRED, REMOTE, LIKELY, REMOTE
BY_NUMBER, BY_STATUS = COUNTED, LIKELY
UNTOLD = CONSISTENT
"""The kernel leaves lines out where it would have to write too many."""
SCHEDULED = LIKELY
"""A scheduler that says nothing makes it no better: it kills, too."""
_OTHER_RULES = frozenset(
    (
        *(signal.SIGTERM, signal.SIGINT, signal.SIGHUP),
        *(signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGABRT, signal.SIGXCPU),
    )
)
_AMBIGUOUS = frozenset({signal.SIGQUIT, signal.SIGTRAP, signal.SIGSYS})
"""Typed at a terminal, or raised by the program itself, they have other names."""
_ASKED = frozenset({signal.SIGTERM, signal.SIGINT, signal.SIGHUP})


def diagnose(evidence: Evidence) -> Answer:
    """Fires on SIGKILL unless the kernel's counters have it, and on fatal signals that another process sent."""
    kill = kill_of(evidence)
    if kill is not None:
        return _of_kill(evidence, kill)
    ending = ending_of(evidence)
    if ending is None and is_silent(evidence):
        return NotObservable(
            cause=CAUSE, because=f"{UNSEEN_END}: it may have been SIGKILL", remedy=how_to_see_the_end(evidence)
        )
    if ending is None or ending.signal in _ASKED:
        return None
    if ending.is_sent:
        return _verdict(evidence, min(SENT, ending.certainty), _title_of_sent(evidence, ending), ending)
    if is_untold(evidence, ending):
        return _verdict(evidence, min(UNTOLD, ending.certainty), _title_of_untold(evidence, ending), ending)
    if _is_of_another_rule(evidence, ending):
        return None
    if ending.signal == signal.SIGXFSZ and evidence.subject.role == "child":
        return None  # nobody killed it: it reached a limit, which has no name but its death
    grade = BY_STATUS if ending.signal in _AMBIGUOUS else BY_NUMBER
    return _verdict(evidence, min(grade, ending.certainty), _title_of_other(evidence, ending), ending)


def _is_of_another_rule(evidence: Evidence, ending: Ending) -> bool:
    if ending.signal == signal.SIGXCPU and ending.caught is None and has_no_cpu_limit(evidence):
        return False
    return ending.signal in _OTHER_RULES or (ending.signal == signal.SIGQUIT and ending.caught is not None)


def _of_kill(evidence: Evidence, kill: Kill) -> Answer:
    if kill.report is not None:
        return RuledOut(cause=CAUSE, because="the Linux kernel log says that Linux killed it for memory")
    if kill.counted is None and says_out_of_memory(evidence):
        return RuledOut(cause=CAUSE, because="the scheduler says that it was for memory")
    grade = _grade(evidence, kill)
    if grade is None:
        return RuledOut(
            cause=CAUSE,
            because="Linux killed for memory under its limit (cgroup), and the run held enough to be the victim",
        )
    if _has_silent_scheduler(evidence):
        grade = min(grade, SCHEDULED)
    return _verdict(evidence, min(grade, kill.ending.certainty), _title_of_kill(evidence, kill), kill.ending)


def _grade(evidence: Evidence, kill: Kill) -> Grade | None:
    """None where the kernel did it."""
    if is_others_kill(kill):
        return OTHERS
    if kill.counted == 0 and kill.host_kills and is_scarce(evidence) and not kill.has_log:
        return UNSEEN  # a cgroup may be gone with its counter, and the machine did kill for memory
    if kill.counted == 0:
        return UNMOVED_AND_LOGGED if kill.has_log else UNMOVED
    if kill.counted:
        return _beside_a_kill(evidence)
    if kill.host_kills == 0:
        return NOBODY
    return LOGGED_ONLY if kill.has_log else UNSEEN


def _beside_a_kill(evidence: Evidence) -> Grade | None:
    """The kernel killed somebody for memory, in the same cgroup and at the same time."""
    if has_greater_neighbour(evidence):
        return EITHER
    if is_plausible(evidence):
        return None
    return SMALL if is_too_small(evidence) else UNLIKELY


def _has_silent_scheduler(evidence: Evidence) -> bool:
    """A job of which the scheduler did not say how it ended."""
    if evidence.job is not None:
        return not evidence.job.state and not evidence.job.said
    return bool(evidence.facts.get("schedulers")) or evidence.facts.get("container") == "kubernetes"


def _verdict(evidence: Evidence, grade: Grade, title: str, ending: Ending, /) -> Verdict:
    extra = [limits.raise_file_size] if ending.signal == signal.SIGXFSZ else []
    return Verdict(
        cause=CAUSE,
        grade=grade,
        title=words.sentence(title),
        because=tuple(_because(evidence, ending))[:5],
        advice=advise(evidence, extra),
    )


def _because(evidence: Evidence, ending: Ending) -> list[Fact]:
    end, memory = evidence.subject, evidence.memory
    found = [facts.of_signal(ending.caught, evidence.senders)] if ending.caught else []
    found.append(facts.of_status(end) if end.status is not None else facts.of_absence(end))
    if is_untold(evidence, ending):
        text = "Linux logs such faults, and has none of this process"
        found.append(facts.fact(facts.KERNEL_LOG, end.at_ns, text))
    if ending.signal != signal.SIGKILL:
        return found
    own = next((level for level in memory.levels if level.level == 0 and level.kills is not None), None)
    found += [facts.of_kills(own, end.at_ns)] if own else []
    if memory.host_kills == 0:
        text = "Linux killed nothing on this machine for memory since the run began (oom_kill did not move)"
        found.append(facts.fact(facts.KERNEL, end.at_ns, text))
    asked = end.caught(signal.SIGTERM)
    found += [facts.of_signal(asked, evidence.senders)] if asked and end.at_ns - asked.at_ns < 600e9 else []
    kill = kill_of(evidence)
    found += [facts.of_oom_kill(each) for each in (kill.others[:1] if kill else ())]
    return [*found, *facts.of_own(evidence)]


def _title_of_kill(evidence: Evidence, kill: Kill) -> str:
    end = evidence.subject
    asked = end.caught(signal.SIGTERM)
    after = ""
    if asked is not None and end.at_ns - asked.at_ns < 600e9:
        who = facts.sender_of(asked, evidence.senders) if asked.is_sent else "Linux"
        after = f", {words.seconds(max(0.0, (end.at_ns - asked.at_ns) / 1e9))} after {who} had sent it SIGTERM"
    known = "; it was not Linux freeing memory" if kill.is_not_for_memory or is_others_kill(kill) else ""
    return f"somebody killed {words.process(end)} with SIGKILL{after}{known}"


def _title_of_sent(evidence: Evidence, ending: Ending) -> str:
    caught = ending.caught
    if caught is None or caught.sender_pid == caught.pid:
        return f"{words.process(evidence.subject)} sent itself {words.signal(ending.signal)}"
    sender = facts.sender_of(caught, evidence.senders)
    return f"{sender} ended {words.process(evidence.subject)} by sending it {words.signal(ending.signal)}"


def _title_of_untold(evidence: Evidence, ending: Ending) -> str:
    return (
        f"somebody sent {words.process(evidence.subject)} {words.signal(ending.signal)}; the program was not at fault"
    )


def _title_of_other(evidence: Evidence, ending: Ending) -> str:
    reasons = {
        signal.SIGXFSZ: "a file had reached its size limit",
        signal.SIGPIPE: "nobody was reading its output any more",
        signal.SIGALRM: "a timer that it had set ran out",
        signal.SIGSYS: "it made a system call that is not allowed here",
    }
    reason = next((text for number, text in reasons.items() if number == ending.signal), "nobody saw who sent it")
    return f"{words.signal(ending.signal)} ended {words.process(evidence.subject)}: {reason}"


def hides_behind(verdict: Verdict, evidence: Evidence) -> Grade | None:
    """A fatal signal may come from a fault or from anybody; the exit status is the same."""
    ending = ending_of(evidence)
    if ending is None or ending.signal not in FAULTS:
        return None
    has_more = any(fact.source not in (facts.EXIT_STATUS, facts.FAULT_LOG) for fact in verdict.because)
    is_seen = ending.caught is not None or ending.is_bypassed
    return None if is_seen or has_more else OPEN
