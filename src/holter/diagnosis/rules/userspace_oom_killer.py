"""A daemon that watches the memory (earlyoom, systemd-oomd, …) ended the process before Linux had to.

Such daemons act while the machine is merely slow; Linux's own counters stay at 0, so it looks like `kill -9`.

Use less memory, or tell the daemon to spare the training (`earlyoom --avoid`, `ManagedOOMPreference=omit`).
"""

import signal

from holter.diagnosis import facts, kills, words
from holter.diagnosis.endings import ending_of
from holter.diagnosis.grades import COUNTED, INFERRED, LIKELY, NAMED, UNLIKELY
from holter.diagnosis.remedies import memory, outside
from holter.model.evidence import Caught, Evidence
from holter.model.verdicts import Answer, Fact, Grade, RuledOut, Verdict

ADVICE = (memory.calm_the_daemon, *memory.LESS_MEMORY, memory.more_machine_memory, outside.resume)
CURVES = ("host-memory", "rss")
DAEMONS = ("earlyoom", "systemd-oomd", "oomd", "nohang", "low-memory-monitor")
NEAR_S = 30.0
_SENT = (signal.SIGTERM, signal.SIGKILL)


def diagnose(evidence: Evidence) -> Answer:
    """Fires where a daemon sent the signal or said so, or was there while memory was short."""
    sent = _sent_by_daemon(evidence)
    if sent is not None:
        return _verdict(evidence, NAMED, facts.of_signal(sent, evidence.senders))
    ending, daemon = ending_of(evidence), evidence.oom_daemon
    if ending is None or ending.signal not in _SENT or daemon is None:
        return None
    if daemon.said:
        said = [facts.fact(facts.OOM_DAEMON, evidence.subject.at_ns, line) for line in daemon.said[-2:]]
        return _verdict(evidence, min(COUNTED, ending.certainty), *said)
    kill = kills.kill_of(evidence)
    if kill is None or not kill.is_not_for_memory:
        return None
    if not daemon.running:
        return RuledOut(because="no earlyoom, systemd-oomd or the like runs here")
    if not kills.is_pressed(evidence):
        return RuledOut(because=f"{daemon.running[0]} runs here, but memory was not short")
    return _verdict(evidence, INFERRED)


def _sent_by_daemon(evidence: Evidence) -> Caught | None:
    end = evidence.subject
    names = {sender.pid: sender.command for sender in evidence.senders}
    for each in reversed(end.signals):
        near = abs(end.at_ns - each.at_ns) / 1e9 <= NEAR_S and each.pid in (0, end.pid)
        command = (names.get(each.sender_pid, "") or each.sender).strip().partition(" ")[0].rstrip(":")
        if near and each.is_sent and each.signal in _SENT and command.rpartition("/")[2] in DAEMONS:
            return each
    return None


def _verdict(evidence: Evidence, grade: Grade, /, *found: Fact | None) -> Verdict:
    end, memory = evidence.subject, evidence.memory
    running = evidence.oom_daemon.running if evidence.oom_daemon else ()
    runs = f"{words.listed(running)} runs on this machine"
    waited = words.told("everything waited for memory for {:.0f} % of the last 10 s", memory.full_pressure_percent)
    more = [
        facts.fact(facts.OOM_DAEMON, end.at_ns, runs) if running else None,
        facts.fact(facts.SAMPLES, memory.sampled_ns or end.at_ns, waited) if waited else None,
        facts.of_available(evidence),
        facts.of_status(end),
    ]
    name = running[0] if running else "a memory daemon"
    left = f" when {words.size(memory.available_bytes)} was left" if memory.available_bytes is not None else ""
    verb = "ended" if grade > LIKELY else "probably ended"
    return Verdict(grade, f"{name} {verb} {words.process(end)} to free memory{left}", [*found, *more])


def hides_behind(verdict: Verdict, evidence: Evidence) -> Grade | None:
    """A daemon for memory ends processes like a person does, unless somebody saw who it was, or that none runs."""
    ending, daemon = ending_of(evidence), evidence.oom_daemon
    if verdict.cause not in ("killed", "terminated") or ending is None or ending.caught is not None:
        return None
    may_act = daemon is None or (bool(daemon.running) and kills.is_pressed(evidence) is not False)
    return UNLIKELY if may_act and ending.signal in _SENT else None
