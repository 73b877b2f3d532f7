"""The training diverged: a metric became NaN or infinite, and then the program gave up.

A logged NaN alone ends nothing, and some programs log NaN for "no value": only one that was still there at the end,
before an exception or an exit that has to do with it, is a cause. Words alone count where they are about the training's
own numbers: data with NaN in it is a mistake in the data.

Lower the learning rate or warm it up, clip gradients, and look at the batch of the first bad step; with half precision
use a gradient scaler or bfloat16. `torch.autograd.set_detect_anomaly(True)` names the operation that made the first
NaN.
"""

from holter.diagnosis import facts, texts, words
from holter.diagnosis.causality.ends import ended_well, left_with
from holter.diagnosis.grades import CONSISTENT, COUNTED, INFERRED, LIKELY
from holter.diagnosis.phrases.tags import says
from holter.diagnosis.remedies import outside, program
from holter.model.evidence import Evidence, NonFinite
from holter.model.records import Raised
from holter.model.verdicts import Answer, Fact, Grade, Verdict

ADVICE = (program.find_nan, program.lower_learning_rate, outside.resume)
CURVES = ("metric",)
_GIVES_UP = {"AssertionError", "ValueError", "RuntimeError", "FloatingPointError", "OverflowError", "ArithmeticError"}
_BY_NATURE = {"FloatingPointError"}


def diagnose(evidence: Evidence) -> Answer:
    """Fires where numbers that are none came before the end, and the end has to do with them."""
    end = evidence.subject
    if ended_well(end) or end.signal is not None or (end.raised is None and not left_with(end)):
        return None
    # The first metric to go bad of those that were bad to the end; losses before others.
    bad = min(
        (each for each in evidence.non_finite if each.is_last),
        key=lambda each: (not says(each.key, "metric-of-loss"), each.at_ns),
        default=None,
    )
    grade = _grade(end.raised, bad) if end.raised is not None else _grade_of_exit(evidence, bad)
    return None if grade is None else Verdict(grade, _title(end.raised, bad), _because(evidence, bad))


def _grade(error: Raised, bad: NonFinite | None) -> Grade | None:
    names, check = texts.type_names(error), f"{texts.source_line(error)} {error.message}"
    spoken = f"{texts.whole_text(error)}\n{texts.source_line(error)}"
    mentions = bool(names & _BY_NATURE) or says(spoken, "not-finite")
    if bad is not None and mentions:
        return COUNTED
    if mentions and names & (_BY_NATURE | {"LinAlgError"}):
        # A division by zero is a mistake about any numbers; what overflows or is no number may be the training's.
        other = None if "divide by zero" in error.message else INFERRED
        return CONSISTENT if says(check, "own-numbers") else other
    if "returned nan values" in error.message:
        return CONSISTENT
    if bad is None or not names & _GIVES_UP:
        is_by_words = mentions and says(check, "own-numbers")
        return INFERRED if is_by_words and names & {"AssertionError", "ValueError"} else None
    if not _was_finite(bad):
        return None
    return CONSISTENT if says(check, "loss") else INFERRED if "AssertionError" in names else None


def _grade_of_exit(evidence: Evidence, bad: NonFinite | None) -> Grade | None:
    said = evidence.subject.finished.exit_text if evidence.subject.finished else ""
    if says(said, "not-finite"):
        return COUNTED if bad is not None else LIKELY if says(said, "own-numbers") else None
    is_loss = bad is not None and says(bad.key, "metric-of-loss") and _was_finite(bad)
    return INFERRED if is_loss else None


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


def _because(evidence: Evidence, bad: NonFinite | None) -> list[Fact | None]:
    end, found = evidence.subject, list[Fact | None]()
    if bad is not None:
        text = f"{bad.key} was {bad.value} from step {bad.step:,} to the end"
        found.append(facts.fact(facts.JOURNAL, bad.at_ns, text))
    if bad is not None and _has_last(bad):
        text = f"the last finite value of {bad.key} was {bad.last_finite:.6g}, at step {bad.last_finite_step:,}"
        found.append(facts.fact(facts.JOURNAL, bad.at_ns, text))
    if end.raised is not None:
        is_typed = bad is not None or bool(texts.type_names(end.raised) & _BY_NATURE)
        found.append(facts.of_exception(end.raised, is_type_decisive=is_typed))
        line = words.quote(texts.source_line(end.raised), 120)
        found.append(facts.fact(facts.EXCEPTION, end.raised.at_ns, f"raised by `{line}`") if line else None)
    if end.finished is not None and end.finished.exit_text:
        found.append(facts.fact(facts.JOURNAL, end.finished.at_ns, f"it exited saying: {end.finished.exit_text}"))
    return [*found, facts.of_status(end)]
