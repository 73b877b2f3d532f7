"""A worker or child process died, and the program could not go on without it.

The program's own exception (`DataLoader worker exited unexpectedly`, `BrokenProcessPool`) only reports that. Where it
is known why the child died, its own cause is named (out of memory, a segmentation fault); this one is for the rest.

Run with `num_workers=0`, so that what happens in the worker happens in the program and leaves a traceback.
"""

from holter.diagnosis import facts
from holter.diagnosis.advice import advise
from holter.diagnosis.causality import children
from holter.diagnosis.causality.ends import call, how_it_went, lost_a_child, lost_a_peer
from holter.diagnosis.endings import ending_of
from holter.diagnosis.grades import CONSISTENT, COUNTED, LIKELY, OPEN, UNLIKELY
from holter.diagnosis.mistakes import find_mistake_of_workers
from holter.diagnosis.remedies import memory, outside, program
from holter.model.evidence import Evidence
from holter.model.verdicts import Answer, Grade, Verdict

GENERALITY = 2
ADVICE = (program.look_at_worker, memory.fewer_workers, outside.resume)


def diagnose(evidence: Evidence) -> Answer:
    """Fires where the subject ended because a child of it did."""
    end, child = evidence.subject, children.find_lost_child(evidence)
    # A shell that hands on its command's code: nothing was lost that the exit code does not say.
    is_handed_on = end.raised is None and (child is None or child.signal is None)
    if is_handed_on or (child is None and not lost_a_child(end)):
        return None
    mistake = find_mistake_of_workers(evidence)
    said = facts.of_exception(end.raised, is_type_decisive=child is not None)
    found = [facts.of_status(child) if child else None, said, facts.of_status(end), facts.of_steps(end)]
    grade, title = LIKELY, f"a worker of {call(end)} died, nobody saw how, and the program could not go on"
    if child is not None:
        grade = COUNTED if child.status is not None else CONSISTENT
        title = f"{call(child)} {how_it_went(child)}, and {call(end)} could not go on without it"
    why = f": {mistake.explanation}" if mistake else ""
    return Verdict(grade, title + why, found, advice=advise(evidence, (mistake.remedy,)) if mistake else ())


def hides_behind(verdict: Verdict, evidence: Evidence) -> Grade | None:
    """Who fails may have looked at a child first, or lost its partner; and a pool that breaks ends all others."""
    end, ending = evidence.subject, ending_of(evidence)
    if verdict.cause == "terminated":
        return OPEN if end.role == "child" and ending is not None and ending.caught is None else None
    if verdict.is_vague and lost_a_peer(end):
        return OPEN
    if not verdict.is_vague or children.find_lost_child(evidence) is not None:
        return None
    return UNLIKELY if children.is_about_a_code(evidence) else children.may_have_lost_a_child(evidence)
