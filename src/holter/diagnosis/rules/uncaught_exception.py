"""The program raised an exception that nobody caught, and Python ended it.

The traceback says where; the innermost line of your own code is the place to begin. An exception in a thread, a task
or a callback does not end a program and is no cause; neither is one that was caught and printed. Where an exception is
only the sign of something else (a full disk, a dead worker, a lost partner), that other cause is named instead.

Start at the line named in the title. To go on from the last checkpoint after the fix, pass `resume` to `holter.init`.
"""

import msgspec

from holter.diagnosis import facts, testimony, words
from holter.diagnosis.advice import Remedy, advise
from holter.diagnosis.causality.children import find_lost_child
from holter.diagnosis.causality.console import LAST_WORDS, PRINTED
from holter.diagnosis.causality.ends import WITHOUT_CLIENT, ended_well
from holter.diagnosis.causality.origin import only_passed_on
from holter.diagnosis.causality.tracebacks import looks_uncaught
from holter.diagnosis.endings import ending_of
from holter.diagnosis.grades import CONSISTENT, COUNTED, INFERRED, LIKELY, NAMED
from holter.diagnosis.mistakes import find_mistake
from holter.diagnosis.phrases.tags import tags_in
from holter.diagnosis.remedies import several
from holter.diagnosis.remedies.outside import resume
from holter.diagnosis.remedies.program import look_at_exception
from holter.diagnosis.rivals import OPEN, UNLIKELY
from holter.diagnosis.texts import type_names
from holter.model.evidence import End, Evidence
from holter.model.records import Raised
from holter.model.verdicts import Answer, Fact, Grade, Verdict

CAUSE = "uncaught-exception"
GENERALITY = 3
ADVICE = (resume,)
CURVES = ("metric", "loss")
_ENDS = ("main", "child", PRINTED, LAST_WORDS)
_THREAD_S = 60.0
_TEARDOWN_SIGNALS = (6, 11)


def diagnose(evidence: Evidence) -> Answer:
    """Fires where an exception ended the subject."""
    end = evidence.subject
    error = end.raised
    if error is None or error.where not in _ENDS or type_names(error) & {"KeyboardInterrupt"}:
        return None
    if ended_well(end) or (end.signal is not None and end.signal not in _TEARDOWN_SIGNALS):
        return None
    inside = _raised_inside(end, error)
    at_work = msgspec.structs.replace(evidence, subject=msgspec.structs.replace(end, raised=inside))
    return Verdict(
        cause=CAUSE,
        grade=_grade(end, error),
        title=_title(end, error, inside),
        because=testimony.few(_because(evidence, error)),
        advice=advise(at_work, (*_remedies(error), look_at_exception)),
        is_consequence=only_passed_on(evidence),
    )


def _grade(end: End, error: Raised) -> Grade:
    if error.where == LAST_WORDS:
        return COUNTED
    if error.where == PRINTED:
        if end.code != 1:
            return INFERRED  # Python leaves with 1: somebody else chose the code, and perhaps had caught it
        return CONSISTENT if looks_uncaught(error) else INFERRED
    if end.signal is not None:
        return LIKELY  # Python was on its way out when native code fell over
    if end.code is not None:
        return NAMED
    # Who called it may have caught it, and nobody saw how that left.
    return COUNTED if looks_uncaught(error) else INFERRED


def _raised_inside(end: End, error: Raised) -> Raised:
    """The same exception as a worker raised it, before it was handed to the program: there the place is."""
    handed = [
        other
        for other in end.others_raised
        if other.where == "pool" and other.message in error.message and other.type in f"{error.type} {error.message}"
    ]
    return handed[-1] if handed else error


def _title(end: End, error: Raised, inside: Raised) -> str:
    kind, message, where = error.type, error.message, ""
    if found := tags_in(message).get("handed-over"):
        kind, where, message = found[1], f" in {found[2]}", found[3].removeprefix(f"{found[1]}: ")
    name = kind.rpartition(".")[2] + where
    said = f"{name}: {words.quote(message, 120)}" if message.strip() else name
    if end.role == "kernel":  # nobody of ours is inside it: only what failed at its start is known
        return f"The notebook's kernel could not start: {said}"
    place = testimony.place(inside)
    who = f"rank {end.rank}: " if end.rank is not None else ""
    mistake = find_mistake(error)
    told = f"{who}{said}, raised at {place}" if place else f"{who}{said}"
    if mistake:
        return words.sentence(f"{told}: {mistake.explanation}")
    if _ended_the_run(end, error):
        return words.sentence(f"{told}; with it the program ended its run")
    is_sure = error.where != PRINTED or (end.code == 1 and looks_uncaught(error))
    return words.sentence(f"{told}; {'nobody caught it' if is_sure else 'with that the output ends'}")


def _ended_the_run(end: End, error: Raised) -> bool:
    """The program caught it and called `finish` with an exit code; perhaps it raised it again then."""
    finished = end.finished
    return finished is not None and finished.how == "finish" and error.at_ns <= finished.at_ns


def _because(evidence: Evidence, error: Raised) -> list[Fact]:
    end = evidence.subject
    inside = _raised_inside(end, error)
    found = [facts.of_exception(error), facts.of_status(end)]
    if inside is not error:
        found.append(facts.of_exception(inside))
    found += [*testimony.of_cause(error), *testimony.of_way(error)]
    if type_names(error) & {"MemoryError", "OutOfMemoryError", "ResourceExhaustedError"}:
        found += testimony.of_arrays(inside)
    return [*found, *_dead_threads(end, error), *testimony.of_steps(end)]


def _dead_threads(end: End, error: Raised) -> list[Fact]:
    """A thread that had died just before may be why; it did not end the program itself."""
    near = [
        other
        for other in end.others_raised
        if other.where == "thread" and 0 <= (error.at_ns - other.at_ns) / 1e9 <= _THREAD_S
    ]
    return [
        facts.fact(facts.EXCEPTION, other.at_ns, f"before that, thread {other.thread} ended with {other.type}")
        for other in near[-1:]
    ]


def _remedies(error: Raised) -> tuple[Remedy, ...]:
    mistake = find_mistake(error)
    return (mistake.remedy,) if mistake else (several.install_module,)


def hides_behind(verdict: Verdict, evidence: Evidence) -> Grade | None:
    """Python leaves with 1 after it, and what a worker printed may be lost; a pool that breaks ends all others."""
    end, ending = evidence.subject, ending_of(evidence)
    if verdict.cause == "terminated":
        return OPEN if end.role == "child" and ending is not None and ending.caught is None else None
    if verdict.cause != "worker-died" or end.role not in WITHOUT_CLIENT:
        return None
    child = find_lost_child(evidence)
    return UNLIKELY if child is not None and child.code == 1 and child.raised is None else None
