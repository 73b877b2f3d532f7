"""The program raised an exception that nobody caught, and Python ended it.

The traceback says where; the innermost line of your own code is the place to begin. An exception in a thread, a task
or a callback does not end a program and is no cause; neither is one that was caught and printed. Where an exception is
only the sign of something else (a full disk, a dead worker, a lost partner), that other cause is named instead.

Start at the line named in the title. To go on from the last checkpoint after the fix, pass `resume` to `holter.init`.
"""

import signal

import msgspec

from holter.diagnosis import facts, words
from holter.diagnosis.advice import advise
from holter.diagnosis.causality.children import find_lost_child
from holter.diagnosis.causality.console import LAST_WORDS, PRINTED
from holter.diagnosis.causality.ends import WITHOUT_CLIENT, ended_well
from holter.diagnosis.causality.origin import only_passed_on
from holter.diagnosis.causality.tracebacks import looks_uncaught
from holter.diagnosis.endings import ending_of
from holter.diagnosis.grades import CONSISTENT, COUNTED, INFERRED, LIKELY, NAMED, OPEN, UNLIKELY
from holter.diagnosis.kills import MEMORY_ERRORS
from holter.diagnosis.mistakes import find_mistake
from holter.diagnosis.phrases.tags import tags_in
from holter.diagnosis.remedies import outside, program, several
from holter.diagnosis.texts import is_own_raise, type_names
from holter.model.evidence import End, Evidence
from holter.model.records import Raised
from holter.model.verdicts import Answer, Fact, Grade, Verdict

GENERALITY = 3
ADVICE = (outside.resume,)
CURVES = ("metric", "loss")
_ENDS = ("main", "child", PRINTED, LAST_WORDS)
_THREAD_S = 60.0
_TEARDOWN_SIGNALS = (None, 6, 11)


def diagnose(evidence: Evidence) -> Answer:
    """Fires where an exception ended the subject."""
    end, error = evidence.subject, evidence.subject.raised
    if error is None or error.where not in _ENDS:
        return None
    is_interrupt = bool(type_names(error) & {"KeyboardInterrupt"})
    if is_interrupt and not _raised_it_itself(end, error):
        return None
    if ended_well(end) or end.signal not in (*_TEARDOWN_SIGNALS, *([signal.SIGINT] if is_interrupt else ())):
        return None
    inside, mistake = _raised_inside(end, error), find_mistake(error)
    at_work = msgspec.structs.replace(evidence, subject=msgspec.structs.replace(end, raised=inside))
    remedies = (mistake.remedy if mistake else several.install_module, program.look_at_exception)
    found = [
        facts.of_exception(error),
        facts.of_status(end),
        facts.of_exception(inside),
        facts.of_cause(error),
        facts.of_way(error),
        facts.of_arrays(inside) if type_names(error) & MEMORY_ERRORS else None,
        _dead_thread(end, error),
        facts.of_steps(end),
    ]
    return Verdict(
        _grade(end, error),
        _title(end, error, inside),
        found,
        advice=advise(at_work, remedies),
        is_consequence=only_passed_on(evidence),
    )


def _raised_it_itself(end: End, error: Raised) -> bool:
    """What Ctrl-C raises, raised by a line of the program while no signal came."""
    return is_own_raise(error) and end.has_signal_witness and end.caught(signal.SIGINT) is None


def _grade(end: End, error: Raised) -> Grade:
    if error.where == LAST_WORDS:
        return COUNTED
    if error.where == PRINTED:
        # Python leaves with 1: else somebody else chose the code, and perhaps had caught it.
        return CONSISTENT if end.code == 1 and looks_uncaught(error) else INFERRED
    if end.signal is not None:
        return LIKELY  # Python was on its way out when native code fell over
    if end.code is not None:
        return NAMED
    # Who called it may have caught it, and nobody saw how that left.
    return COUNTED if looks_uncaught(error) else INFERRED


def _raised_inside(end: End, error: Raised) -> Raised:
    """The same exception as a worker raised it, before it was handed to the program: there the place is."""
    pooled = [other for other in end.others_raised if other.where == "pool" and other.message in error.message]
    handed = [other for other in pooled if other.type in f"{error.type} {error.message}"]
    return handed[-1] if handed else error


def _title(end: End, error: Raised, inside: Raised) -> str:
    kind, message, where = error.type, error.message, ""
    if found := tags_in(message).get("handed-over"):
        kind, where, message = found[1], f" in {found[2]}", found[3].removeprefix(f"{found[1]}: ")
    said = kind.rpartition(".")[2] + where + (f": {words.quote(message, 120)}" if message.strip() else "")
    if end.role == "kernel":  # nobody of ours is inside it: only what failed at its start is known
        return f"The notebook's kernel could not start: {said}"
    mistake, finished = find_mistake(error), end.finished
    told = f"{words.told('rank {}: ', end.rank)}{said}{words.told(', raised at {}', facts.place(inside))}"
    if mistake:
        return f"{told}: {mistake.explanation}"
    # The program caught it and called `finish` with an exit code; perhaps it raised it again then.
    if finished is not None and finished.how == "finish" and error.at_ns <= finished.at_ns:
        return f"{told}; with it the program ended its run"
    is_sure = error.where != PRINTED or (end.code == 1 and looks_uncaught(error))
    return f"{told}; {'nobody caught it' if is_sure else 'with that the output ends'}"


def _dead_thread(end: End, error: Raised) -> Fact | None:
    """A thread that had died just before may be why; it did not end the program itself."""
    threads = [other for other in end.others_raised if other.where == "thread"]
    near = [other for other in threads if 0 <= (error.at_ns - other.at_ns) / 1e9 <= _THREAD_S]
    texts = [(other.at_ns, f"before that, thread {other.thread} ended with {other.type}") for other in near]
    return facts.fact(facts.EXCEPTION, *texts[-1]) if texts else None


def hides_behind(verdict: Verdict, evidence: Evidence) -> Grade | None:
    """Python leaves with 1 after it, and what a worker printed may be lost; a pool that breaks ends all others."""
    end, ending = evidence.subject, ending_of(evidence)
    if verdict.cause == "terminated":
        return OPEN if end.role == "child" and ending is not None and ending.caught is None else None
    if verdict.cause != "worker-died" or end.role not in WITHOUT_CLIENT:
        return None
    child = find_lost_child(evidence)
    return UNLIKELY if child is not None and child.code == 1 and child.raised is None else None
