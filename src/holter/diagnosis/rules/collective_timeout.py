"""A rank waited for another one in a collective operation, such as an all-reduce, until it gave up.

The rank that reports the timeout is the victim: the one to look at is the one that did not come, because it is stuck,
slow, still in another phase, or gone. `torchrun` names the first that reports, which is the wrong one.

Look at the rank that is named as behind. Make sure that all ranks do the same number of steps and collectives, and
raise `timeout=` of `init_process_group` where one rank may take long on purpose.
"""

from holter.diagnosis import facts, texts
from holter.diagnosis.causality.ends import at_step, call, ended_well, waited_in_vain
from holter.diagnosis.causality.origin import only_passed_on
from holter.diagnosis.causality.ranks import find_laggard, tell_laggard
from holter.diagnosis.grades import CONSISTENT, COUNTED
from holter.diagnosis.remedies import outside, several
from holter.model.evidence import End, Evidence
from holter.model.verdicts import Answer, Verdict

ADVICE = (
    "look at the rank that is behind, not at the one that reports; set TORCH_NCCL_TRACE_BUFFER_SIZE for next time",
    several.same_batches,
    "if one rank may take long (checkpoints, evaluation), raise timeout= of init_process_group",
    outside.resume,
)
CURVES = ("gpu-load", "cpu")
_ABORTED = 6


def diagnose(evidence: Evidence) -> Answer:
    """Fires on the words of a collective that timed out: in the exception, or from NCCL's watchdog before an abort."""
    end, has_aborted = evidence.subject, evidence.subject.signal == _ABORTED
    if ended_well(end):
        return None
    line = texts.line_near_end(evidence, "collective-watchdog", near_s=120) if has_aborted else None
    if line is None and (end.raised is None or not waited_in_vain(end) or texts.is_own_raise(end.raised)):
        return None
    laggard = find_laggard(evidence)
    is_sure = laggard is not None or (end.raised is not None and "Dist" in end.raised.type)
    said = [facts.of_exception(end.raised, is_type_decisive=is_sure), facts.of_console(line)]
    found = [*tell_laggard(evidence), *said, facts.of_status(end)]
    grade = COUNTED if is_sure else CONSISTENT
    return Verdict(grade, _title(end, laggard), found, is_consequence=only_passed_on(evidence))


def _title(end: End, laggard: End | None) -> str:
    if laggard is None:
        return f"{call(end)} waited in vain for the other ranks in a collective operation"
    if laggard.pid == end.pid:
        return f"{call(end)} fell behind{at_step(end)}, and the other ranks waited for it in vain"
    behind = at_step(laggard).removeprefix(", ")
    where = f", which stood {behind}" if behind else ", which did not come"
    comma = "," if at_step(end) else ""
    return f"{call(end)}{at_step(end)}{comma} waited in vain for {call(laggard)}{where}"
