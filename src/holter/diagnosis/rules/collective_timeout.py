"""A rank waited for another one in a collective operation, such as an all-reduce, until it gave up.

The rank that reports the timeout is the victim: the one to look at is the one that did not come, because it is stuck,
slow, still in another phase, or gone. `torchrun` names the first that reports, which is the wrong one.

Look at the rank that is named as behind. Make sure that all ranks do the same number of steps and collectives, and
raise `timeout=` of `init_process_group` where one rank may take long on purpose.
"""

from holter.diagnosis import facts, testimony, words
from holter.diagnosis.causality.ends import at_step, call, ended_well, waited_in_vain
from holter.diagnosis.causality.origin import only_passed_on
from holter.diagnosis.causality.ranks import find_laggard, tell_laggard
from holter.diagnosis.grades import CONSISTENT, COUNTED
from holter.diagnosis.remedies.outside import resume
from holter.diagnosis.remedies.several import same_batches
from holter.diagnosis.texts import is_own_raise, line_near_end
from holter.model.evidence import End, Evidence, Said
from holter.model.verdicts import Answer, Grade, Verdict

CAUSE = "collective-timeout"
ADVICE = (
    "look at the rank that is behind, not at the one that reports; set TORCH_NCCL_TRACE_BUFFER_SIZE for next time",
    same_batches,
    "if one rank may take long (checkpoints, evaluation), raise timeout= of init_process_group",
    resume,
)
CURVES = ("gpu-load", "cpu")
_ABORTED = (6,)


def diagnose(evidence: Evidence) -> Answer:
    """Fires on the words of a collective that timed out: in the exception, or from NCCL's watchdog before an abort."""
    end = evidence.subject
    if ended_well(end):
        return None
    is_raised = end.raised is not None and waited_in_vain(end) and not is_own_raise(end.raised)
    line = line_near_end(evidence, "collective-watchdog", near_s=120) if end.signal in _ABORTED else None
    if not is_raised and line is None:
        return None
    laggard = find_laggard(evidence)
    found = (
        [facts.of_exception(end.raised, is_type_decisive=laggard is not None or "Dist" in end.raised.type)]
        if end.raised
        else []
    )
    found += [facts.of_console(line)] if line else []
    return Verdict(
        cause=CAUSE,
        grade=_grade(end, laggard, line),
        title=_title(end, laggard),
        because=testimony.few([*tell_laggard(evidence), *found, facts.of_status(end)]),
        is_consequence=only_passed_on(evidence),
    )


def _grade(end: End, laggard: End | None, line: Said | None) -> Grade:
    if end.raised is not None:
        return COUNTED if laggard is not None or "Dist" in end.raised.type else CONSISTENT
    return COUNTED if line is not None and laggard is not None else CONSISTENT


def _title(end: End, laggard: End | None) -> str:
    if laggard is None:
        return words.sentence(f"{call(end)} waited in vain for the other ranks in a collective operation")
    if laggard.pid == end.pid:
        return words.sentence(f"{call(end)} fell behind{at_step(end)}, and the other ranks waited for it in vain")
    behind = at_step(laggard).removeprefix(", ")
    where = f", which stood {behind}" if behind else ", which did not come"
    comma = "," if at_step(end) else ""
    return words.sentence(f"{call(end)}{at_step(end)}{comma} waited in vain for {call(laggard)}{where}")
