"""A daemon that watches the memory (earlyoom, systemd-oomd, …) ended the process before Linux had to.

Such daemons act while the machine is merely slow; Linux's own counters stay at 0, so it looks like `kill -9`.

Use less memory, or tell the daemon to spare the training (`earlyoom --avoid`, `ManagedOOMPreference=omit`).
"""

import signal

from holter.diagnosis import facts, words
from holter.diagnosis.endings import ending_of
from holter.diagnosis.grades import COUNTED, INFERRED, LIKELY, NAMED
from holter.diagnosis.kills import is_pressed, kill_of
from holter.diagnosis.remedies.memory import LESS_MEMORY, calm_the_daemon, more_machine_memory
from holter.diagnosis.remedies.outside import resume
from holter.diagnosis.rivals import UNLIKELY
from holter.model.evidence import Caught, Evidence, OomDaemon
from holter.model.verdicts import Answer, Fact, Grade, RuledOut, Verdict

CAUSE = "userspace-oom-killer"
ADVICE = (calm_the_daemon, *LESS_MEMORY, more_machine_memory, resume)
CURVES = ("host-memory", "rss")
DAEMONS = ("earlyoom", "systemd-oomd", "oomd", "nohang", "low-memory-monitor")
SENT, SAID = NAMED, COUNTED
NEAR_S = 30.0


def diagnose(evidence: Evidence) -> Answer:
    """Fires where a daemon sent the signal or said so, or was there while memory was short."""
    sent = _sent_by_daemon(evidence)
    if sent is not None:
        return _verdict(evidence, SENT, [facts.of_signal(sent, evidence.senders)])
    ending, daemon = ending_of(evidence), evidence.oom_daemon
    if ending is None or ending.signal not in (signal.SIGKILL, signal.SIGTERM) or daemon is None:
        return None
    if daemon.said:
        return _verdict(evidence, min(SAID, ending.certainty), _words_of(daemon, evidence.subject.at_ns))
    kill = kill_of(evidence)
    if kill is None or not kill.is_not_for_memory:
        return None
    if not daemon.running:
        return RuledOut(cause=CAUSE, because="no earlyoom, systemd-oomd or the like runs here")
    if not is_pressed(evidence):
        return RuledOut(cause=CAUSE, because=f"{daemon.running[0]} runs here, but memory was not short")
    return _verdict(evidence, INFERRED, [])


def _sent_by_daemon(evidence: Evidence) -> Caught | None:
    end = evidence.subject
    names = {sender.pid: sender.command for sender in evidence.senders}
    for each in reversed(end.signals):
        near = abs(end.at_ns - each.at_ns) / 1e9 <= NEAR_S and each.pid in (0, end.pid)
        command = names.get(each.sender_pid, "") or each.sender
        if near and each.is_sent and each.signal in (signal.SIGTERM, signal.SIGKILL) and _is_daemon(command):
            return each
    return None


def _is_daemon(command: str) -> bool:
    first = command.strip().partition(" ")[0].rstrip(":")
    return first.rpartition("/")[2] in DAEMONS


def _words_of(daemon: OomDaemon, at_ns: int) -> list[Fact]:
    return [facts.fact(facts.OOM_DAEMON, at_ns, line) for line in (daemon.said or ())[-2:]]


def _verdict(evidence: Evidence, grade: Grade, found: list[Fact], /) -> Verdict:
    end, daemon, memory = evidence.subject, evidence.oom_daemon, evidence.memory
    if daemon is not None and daemon.running:
        text = f"{words.listed(daemon.running)} runs on this machine"
        found = [*found, facts.fact(facts.OOM_DAEMON, end.at_ns, text)]
    if memory.full_pressure_percent is not None:
        text = f"everything waited for memory for {memory.full_pressure_percent:.0f} % of the last 10 s"
        found = [*found, facts.fact(facts.SAMPLES, memory.sampled_ns or end.at_ns, text)]
    name = daemon.running[0] if daemon and daemon.running else "a memory daemon"
    left = f" when {words.size(memory.available_bytes)} was left" if memory.available_bytes is not None else ""
    verb = "ended" if grade > LIKELY else "probably ended"
    return Verdict(
        cause=CAUSE,
        grade=grade,
        title=words.sentence(f"{name} {verb} {words.process(end)} to free memory{left}"),
        because=tuple([*found, *facts.of_available(evidence), facts.of_status(end)][:5]),
    )


def hides_behind(verdict: Verdict, evidence: Evidence) -> Grade | None:
    """A daemon for memory ends processes like a person does, unless somebody saw who it was, or that none runs."""
    ending, daemon = ending_of(evidence), evidence.oom_daemon
    if verdict.cause not in ("killed", "terminated") or ending is None or ending.caught is not None:
        return None
    may_act = daemon is None or (bool(daemon.running) and is_pressed(evidence) is not False)
    return UNLIKELY if may_act and ending.signal in (signal.SIGTERM, signal.SIGKILL) else None
