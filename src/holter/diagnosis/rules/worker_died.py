"""A worker or child process died, and the program could not go on without it.

The program's own exception (`DataLoader worker exited unexpectedly`, `BrokenProcessPool`) only reports that. Where it
is known why the child died, its own cause is named (out of memory, a segmentation fault); this one is for the rest.

Run with `num_workers=0`, so that what happens in the worker happens in the program and leaves a traceback.
"""

from holter.diagnosis import facts, testimony, words
from holter.diagnosis.advice import advise
from holter.diagnosis.causality.children import find_lost_child, is_about_a_code, may_have_lost_a_child
from holter.diagnosis.causality.ends import call, how_it_went, lost_a_child, lost_a_peer
from holter.diagnosis.endings import ending_of
from holter.diagnosis.grades import CONSISTENT, COUNTED, LIKELY
from holter.diagnosis.mistakes import Mistake, find_mistake_of_workers
from holter.diagnosis.remedies.memory import fewer_workers
from holter.diagnosis.remedies.outside import resume
from holter.diagnosis.remedies.program import look_at_worker
from holter.diagnosis.rivals import OPEN, UNLIKELY
from holter.model.evidence import End, Evidence
from holter.model.verdicts import Answer, Grade, Verdict

CAUSE = "worker-died"
GENERALITY = 2
ADVICE = (look_at_worker, fewer_workers, resume)


def diagnose(evidence: Evidence) -> Answer:
    """Fires where the subject ended because a child of it did."""
    end = evidence.subject
    child = find_lost_child(evidence)
    if end.raised is None:
        # A shell that hands on its command's code: nothing was lost that the exit code does not say.
        if child is None or child.signal is None:
            return None
    elif child is None and not lost_a_child(end):
        return None
    mistake = find_mistake_of_workers(evidence)
    found = [facts.of_status(child)] if child else []
    found += [facts.of_exception(end.raised, is_type_decisive=child is not None)] if end.raised else []
    return Verdict(
        cause=CAUSE,
        grade=_grade(child),
        title=_title(end, child, mistake),
        because=testimony.few([*found, facts.of_status(end), *testimony.of_steps(end)]),
        advice=advise(evidence, (mistake.remedy,)) if mistake else (),
    )


def _grade(child: End | None) -> Grade:
    if child is None:
        return LIKELY
    return COUNTED if child.status is not None else CONSISTENT


def _title(end: End, child: End | None, mistake: Mistake | None) -> str:
    why = f": {mistake.explanation}" if mistake else ""
    if child is None:
        return words.sentence(f"a worker of {call(end)} died, nobody saw how, and the program could not go on{why}")
    return words.sentence(f"{call(child)} {how_it_went(child)}, and {call(end)} could not go on without it{why}")


def hides_behind(verdict: Verdict, evidence: Evidence) -> Grade | None:
    """Who fails may have looked at a child first, or lost its partner; and a pool that breaks ends all others."""
    end, ending = evidence.subject, ending_of(evidence)
    if verdict.cause == "terminated":
        return OPEN if end.role == "child" and ending is not None and ending.caught is None else None
    if verdict.is_vague and lost_a_peer(end):
        return OPEN
    if not verdict.is_vague or find_lost_child(evidence) is not None:
        return None
    return UNLIKELY if is_about_a_code(evidence) else may_have_lost_a_child(evidence)
