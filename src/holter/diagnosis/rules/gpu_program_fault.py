"""The program made the GPU do something impossible: an assertion in GPU code, or an access to memory that
is not its own.

Most often an index or a class label is out of range, or GPU code of your own is wrong. Such errors are reported late,
by some later call, and once one has happened every call on the GPU fails: the first one counts. The hardware is not
to blame.

Run again with `CUDA_LAUNCH_BLOCKING=1`, so that the traceback shows the call that did it, or run that batch on the
CPU, where the error has a name.
"""

from holter.diagnosis import facts, words
from holter.diagnosis.causality.ends import ended_well
from holter.diagnosis.gpu_errors import PROGRAM_XIDS, is_about_gpu, xids_near_end
from holter.diagnosis.grades import CONSISTENT, COUNTED, LIKELY, NAMED
from holter.diagnosis.remedies import outside
from holter.diagnosis.texts import in_exception, line_near_end
from holter.model.evidence import Evidence, KernelLine
from holter.model.verdicts import Answer, RuledOut, Verdict

ADVICE = (
    "run with CUDA_LAUNCH_BLOCKING=1 to see the line; check that labels and indices are in range",
    outside.resume,
)
_ABORTED = (6, 11)
_SAY_LITTLE = ("RuntimeError", "Exception")


def diagnose(evidence: Evidence) -> Answer:
    """Fires on the words of CUDA, an Xid that programs cause, or both."""
    end = evidence.subject
    if ended_well(end):
        return None
    match, xid = in_exception(evidence, "gpu-program-fault"), _own_xid(evidence)
    line = line_near_end(evidence, "gpu-program-fault") if end.signal in _ABORTED else None
    known = f"Xid {xid.number}, {PROGRAM_XIDS[xid.number]}" if xid else ""
    if match:
        what, grade = match[0], NAMED if xid else COUNTED
    elif line:
        what, grade = line.text, COUNTED if xid else LIKELY
    elif xid and xid.pid:
        what, grade = known, CONSISTENT
    else:
        return _ruled_out(evidence)
    is_typed = xid is not None or (end.raised is not None and end.raised.type not in _SAY_LITTLE)
    found = [
        facts.of_exception(end.raised, is_type_decisive=is_typed),
        facts.fact(facts.GPU, xid.at_ns, known.replace(",", ":", 1)) if xid else None,
        facts.of_console(line),
        facts.of_status(end),
        facts.of_steps(end),
    ]
    noticed = words.told(", noticed at {}", facts.place(end.raised))
    return Verdict(grade, f"The program's own GPU code failed: {words.quote(what, 120)}{noticed}", found)


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
    seen = words.listed([str(number) for number in sorted({xid.number for xid in evidence.gpu.xids})])
    return RuledOut(because=f"no Xid 13, 31 or 43 came before the end (Xids seen: {seen or 'none at all'})")
