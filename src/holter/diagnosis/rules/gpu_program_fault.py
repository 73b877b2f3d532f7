"""The program made the GPU do something impossible: an assertion in GPU code, or an access to memory that
is not its own.

Most often an index or a class label is out of range, or GPU code of your own is wrong. Such errors are reported late,
by some later call, and once one has happened every call on the GPU fails: the first one counts. The hardware is not
to blame.

Run again with `CUDA_LAUNCH_BLOCKING=1`, so that the traceback shows the call that did it, or run that batch on the
CPU, where the error has a name.
"""

from holter.diagnosis import facts, testimony, words
from holter.diagnosis.causality.ends import ended_well
from holter.diagnosis.gpu_errors import PROGRAM_XIDS, is_about_gpu, xids_near_end
from holter.diagnosis.grades import CONSISTENT, COUNTED, LIKELY, NAMED
from holter.diagnosis.remedies.outside import resume
from holter.diagnosis.texts import in_exception, line_near_end
from holter.model.evidence import Evidence, KernelLine, Said
from holter.model.verdicts import Answer, Fact, RuledOut, Verdict

CAUSE = "gpu-program-fault"
ADVICE = ("run with CUDA_LAUNCH_BLOCKING=1 to see the line; check that labels and indices are in range", resume)
_ABORTED = (6, 11)


def diagnose(evidence: Evidence) -> Answer:
    """Fires on the words of CUDA, an Xid that programs cause, or both."""
    if ended_well(evidence.subject):
        return None
    match = in_exception(evidence, "gpu-program-fault")
    line = line_near_end(evidence, "gpu-program-fault") if evidence.subject.signal in _ABORTED else None
    xid = _own_xid(evidence)
    if match:
        what, grade = match[0], NAMED if xid else COUNTED
    elif line:
        what, grade = line.text, COUNTED if xid else LIKELY
    elif xid and xid.pid:
        what, grade = f"Xid {xid.number}, {PROGRAM_XIDS[xid.number]}", CONSISTENT
    else:
        return _ruled_out(evidence)
    return Verdict(
        cause=CAUSE,
        grade=grade,
        title=f"The program's own GPU code failed: {words.quote(what, 120)}{_at(evidence)}",
        because=testimony.few(_because(evidence, xid, line)),
    )


def _own_xid(evidence: Evidence) -> KernelLine | None:
    """An Xid of the subject; NVML does not say whose it is, and then the words of the exception must agree."""
    if not is_about_gpu(evidence.subject):
        return None
    found = xids_near_end(evidence, PROGRAM_XIDS)
    return next((xid for xid in found if xid.pid in (0, evidence.subject.pid)), None)


def _ruled_out(evidence: Evidence) -> RuledOut | None:
    """One might suspect it where a GPU failed in another way."""
    error = evidence.subject.raised
    if error is None or "CUDA error" not in error.message or evidence.gpu is None:
        return None
    numbers = sorted({xid.number for xid in evidence.gpu.xids})
    seen = words.listed([str(number) for number in numbers]) if numbers else "none at all"
    return RuledOut(cause=CAUSE, because=f"no Xid 13, 31 or 43 came before the end (Xids seen: {seen})")


def _because(evidence: Evidence, xid: KernelLine | None, line: Said | None) -> list[Fact]:
    end = evidence.subject
    found = []
    if end.raised is not None:
        is_typed = xid is not None or end.raised.type not in ("RuntimeError", "Exception")
        found.append(facts.of_exception(end.raised, is_type_decisive=is_typed))
    if xid is not None:
        found.append(facts.fact(facts.GPU, xid.at_ns, f"Xid {xid.number}: {PROGRAM_XIDS[xid.number]}"))
    if line is not None:
        found.append(facts.of_console(line))
    return [*found, facts.of_status(end), *testimony.of_steps(end)]


def _at(evidence: Evidence) -> str:
    place = testimony.place(evidence.subject.raised) if evidence.subject.raised else ""
    return f", noticed at {place}" if place else ""
