"""The training diverged: a metric became NaN or infinite, and then the program gave up.

A logged NaN alone ends nothing, and some programs log NaN for "no value": only one that was still there at the end,
before an exception or an exit that has to do with it, is a cause. Words alone count where they are about the training's
own numbers: data with NaN in it is a mistake in the data.

Lower the learning rate or warm it up, clip gradients, and look at the batch of the first bad step; with half precision
use a gradient scaler or bfloat16. `torch.autograd.set_detect_anomaly(True)` names the operation that made the first
NaN.
"""

from holter.diagnosis import facts, testimony, words
from holter.diagnosis.causality.ends import ended_well, left_with
from holter.diagnosis.grades import CONSISTENT, COUNTED, INFERRED, LIKELY
from holter.diagnosis.phrases.tags import says
from holter.diagnosis.remedies.outside import resume
from holter.diagnosis.remedies.program import find_nan, lower_learning_rate
from holter.diagnosis.texts import source_line, type_names, whole_text
from holter.model.evidence import Evidence, NonFinite
from holter.model.records import Raised
from holter.model.verdicts import Answer, Fact, Grade, Verdict

CAUSE = "diverged"
ADVICE = (find_nan, lower_learning_rate, resume)
CURVES = ("metric",)
_GIVES_UP = {"AssertionError", "ValueError", "RuntimeError", "FloatingPointError", "OverflowError", "ArithmeticError"}
_BY_NATURE = {"FloatingPointError"}


def diagnose(evidence: Evidence) -> Answer:
    """Fires where numbers that are none came before the end, and the end has to do with them."""
    end = evidence.subject
    if ended_well(end) or end.signal is not None or (end.raised is None and not left_with(end)):
        return None
    bad = _last_bad(evidence)
    grade = _grade(evidence, bad)
    if grade is None:
        return None
    return Verdict(
        cause=CAUSE,
        grade=grade,
        title=_title(end.raised, bad),
        because=testimony.few(_because(evidence, bad)),
    )


def _last_bad(evidence: Evidence) -> NonFinite | None:
    """The first metric to go bad of those that were bad to the end; losses before others."""
    bad = [each for each in evidence.non_finite if each.is_last]
    return min(bad, key=lambda each: (not says(each.key, "metric-of-loss"), each.at_ns), default=None)


def _grade(evidence: Evidence, bad: NonFinite | None) -> Grade | None:
    end = evidence.subject
    if end.raised is None:
        return _grade_of_exit(evidence, bad)
    mentions = _mentions(end.raised)
    if bad is not None and mentions:
        return COUNTED
    if mentions and type_names(end.raised) & (_BY_NATURE | {"LinAlgError"}):
        return _grade_of_arithmetic(end.raised)
    if "returned nan values" in end.raised.message:
        return CONSISTENT
    if bad is None or not type_names(end.raised) & _GIVES_UP:
        is_by_words = mentions and says(_check(end.raised), "own-numbers")
        return INFERRED if is_by_words and type_names(end.raised) & {"AssertionError", "ValueError"} else None
    is_about_loss = says(_check(end.raised), "loss")
    if is_about_loss and _was_finite(bad):
        return CONSISTENT
    return INFERRED if type_names(end.raised) & {"AssertionError"} and _was_finite(bad) else None


def _grade_of_arithmetic(error: Raised) -> Grade | None:
    """A division by zero is a mistake about any numbers; what overflows or is no number may be the training's."""
    if says(_check(error), "own-numbers"):
        return CONSISTENT
    return None if "divide by zero" in error.message else INFERRED


def _grade_of_exit(evidence: Evidence, bad: NonFinite | None) -> Grade | None:
    finished = evidence.subject.finished
    said = finished.exit_text if finished else ""
    if says(said, "not-finite") and bad is not None:
        return COUNTED
    if says(said, "not-finite"):
        return LIKELY if says(said, "own-numbers") else None
    is_loss = bad is not None and says(bad.key, "metric-of-loss") and _was_finite(bad)
    return INFERRED if is_loss else None


def _mentions(error: Raised) -> bool:
    if type_names(error) & _BY_NATURE:
        return True
    return says(f"{whole_text(error)}\n{source_line(error)}", "not-finite")


def _check(error: Raised) -> str:
    return f"{source_line(error)} {error.message}"


def _was_finite(bad: NonFinite) -> bool:
    """It had been a number once: NaN from the first row on is rather a way to say «no value»."""
    return bad.last_finite is not None


def _title(error: Raised | None, bad: NonFinite | None) -> str:
    after = f"the program gave up with {error.type.rpartition('.')[2]}" if error else "the program exited"
    if bad is None:
        return f"The training's numbers were no longer finite, and {after}"
    last = f" ({bad.last_finite:.4g} at step {bad.last_finite_step:,})" if _has_last(bad) else ""
    return f"The training diverged: {bad.key}{last} became {bad.value} at step {bad.step:,}, and {after}"


def _has_last(bad: NonFinite) -> bool:
    return bad.last_finite is not None and bad.last_finite_step is not None


def _because(evidence: Evidence, bad: NonFinite | None) -> list[Fact]:
    end = evidence.subject
    found = []
    if bad is not None:
        text = f"{bad.key} was {bad.value} from step {bad.step:,} to the end"
        found.append(facts.fact(testimony.JOURNAL, bad.at_ns, text))
    if bad is not None and _has_last(bad):
        text = f"the last finite value of {bad.key} was {bad.last_finite:.6g}, at step {bad.last_finite_step:,}"
        found.append(facts.fact(testimony.JOURNAL, bad.at_ns, text))
    if end.raised is not None:
        found.append(facts.of_exception(end.raised, is_type_decisive=bad is not None or _is_by_nature(end.raised)))
        line = source_line(end.raised)
        found += (
            [facts.fact(facts.EXCEPTION, end.raised.at_ns, f"raised by `{words.quote(line, 120)}`")] if line else []
        )
    if end.finished is not None and end.finished.exit_text:
        found.append(facts.fact(testimony.JOURNAL, end.finished.at_ns, f"it exited saying: {end.finished.exit_text}"))
    return [*found, facts.of_status(end)]


def _is_by_nature(error: Raised) -> bool:
    return bool(type_names(error) & _BY_NATURE)
