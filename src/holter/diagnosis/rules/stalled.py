"""The program was alive but made no progress: no step for much longer than usual.

It may have been stopped (SIGSTOP, a paused container), wait for a device or a disk, wait for a lock that is never
released (a fork while threads held it), wait for a data loader's worker, or compute in one endless call. A run that is
alive can have this cause.

Look at the stacks of all threads (`py-spy dump --pid PID`), which show what it waits for; start workers with `spawn`
where threads were running, and give data loaders a `timeout`.
"""

from holter.diagnosis import facts, words
from holter.diagnosis.advice import advise
from holter.diagnosis.causality.ends import at_step, call, ended_well
from holter.diagnosis.causality.ranks import find_laggard, tell_laggard
from holter.diagnosis.grades import CONSISTENT, COUNTED, INFERRED, LIKELY, REMOTE
from holter.diagnosis.mistakes import forked_with_threads
from holter.diagnosis.remedies import program, several
from holter.diagnosis.texts import in_exception
from holter.model.evidence import Evidence, Stall
from holter.model.verdicts import Answer, Fact, Grade, Verdict

ADVICE = (
    several.wake,
    "look at the stacks: holter show prints those it has; py-spy dump --pid takes them now",
    program.look_at_worker,
)
CURVES = ("cpu", "gpu-load")
OF_THE_LIVING = True
LEAST_S = 60.0
TIMES = 10.0
_IDLE_PERCENT = 5.0
_GAVE_UP = (None, 2, 9, 15)


def diagnose(evidence: Evidence) -> Answer:
    """Fires on what somebody recorded of a stall that lasted to the end, or on a data loader's timeout."""
    end = evidence.subject
    if not end.is_alive and ended_well(end):
        return None
    if match := in_exception(evidence, "loader-timeout"):
        return _verdict(evidence, COUNTED, f"A data-loader worker was stuck: {match[0]}")
    own = [each for each in evidence.stalls if each.rank in (None, end.rank)]
    long = [each for each in own if each.silent_s >= max(LEAST_S, TIMES * each.usual_s)]
    stopped = [each for each in own if each.kernel_state == "T"]
    stall = max(long or stopped, key=lambda each: each.silent_s, default=None)
    if stall is None or (not end.is_alive and (end.raised is not None or end.signal not in _GAVE_UP or end.code)):
        return None
    return _of_stall(evidence, stall)


def _of_stall(evidence: Evidence, stall: Stall) -> Verdict:
    end, laggard = evidence.subject, find_laggard(evidence)
    what, grade = _what(evidence, stall)
    if laggard is not None and laggard.pid != end.pid:
        what = f"it waits for {call(laggard)}, which is behind{at_step(laggard)}"
    usual = f" (usually {words.seconds(stall.usual_s)})" if stall.usual_s else ""
    title = f"{call(end)} has made no progress for {words.seconds(stall.silent_s)}{usual}: {what}"
    cpu = words.told(", {:.0f} % of a core in use", stall.cpu_percent)
    rows = f"no row for {words.seconds(stall.silent_s)}, usually one every {words.seconds(stall.usual_s)}"
    text = f"{rows}{cpu}{words.told(', state {}', stall.kernel_state)}"
    stack = facts.fact("stacks", end.at_ns, f"it stood at {words.quote(stall.stack, 200)}") if stall.stack else None
    found = (facts.fact(facts.SAMPLES, end.at_ns, text), stack)
    if end.is_alive:
        return _verdict(evidence, grade, title, *found)
    # Whoever ended it then may have done so because it stood still: a guess, where nobody says so.
    return _verdict(evidence, REMOTE, f"{title}; then it was ended", *found)


def _what(evidence: Evidence, stall: Stall) -> tuple[str, Grade]:
    if stall.kernel_state == "T":
        return "it was stopped by a signal and waits to be continued", COUNTED
    if stall.kernel_state == "D":
        return "it waits for a disk or a device, or its container is paused", CONSISTENT
    if stall.cpu_percent is not None and stall.cpu_percent > _IDLE_PERCENT:
        return f"it computes ({stall.cpu_percent:.0f} % of a core) without an end in sight", INFERRED
    if forked_with_threads(evidence):
        warned = "Python had warned of a fork while threads ran, which copies locks that are never released"
        return f"it sleeps; {warned}", CONSISTENT
    return "it sleeps, waiting for something that does not come", LIKELY


def _verdict(evidence: Evidence, grade: Grade, title: str, /, *found: Fact | None) -> Verdict:
    end = evidence.subject
    extra = (program.SPAWN_WORKERS,) if forked_with_threads(evidence) else ()
    status, steps = (None, None) if end.is_alive else (facts.of_status(end), facts.of_steps(end))
    because = [*found, facts.of_exception(end.raised), status, *tell_laggard(evidence), steps]
    return Verdict(grade, title, because, advice=advise(evidence, extra))
