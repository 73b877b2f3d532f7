"""How well a verdict is supported: one of six grades, and the confidence that each has earned.

A rule names the grade of its answer, and all that is weighed is weighed in grades. Who joins several facts takes the
weakest of them; a witness that is missing or a rival that nobody could look at lowers the grade, and
words alone never make a verdict sure. The number that people see is what verdicts of that grade came to on faults that
no rule was written for: `make zoo` writes it into `earned.py`.
"""

from holter.diagnosis.earned import CONFIDENCES
from holter.model.verdicts import Grade

NAMED, COUNTED, CONSISTENT = Grade.NAMED, Grade.COUNTED, Grade.CONSISTENT
LIKELY, INFERRED, REMOTE = Grade.LIKELY, Grade.INFERRED, Grade.REMOTE
UNLIKELY, OPEN, EVEN = CONSISTENT, LIKELY, INFERRED
"""What is left of a verdict where another cause would have left the same traces and nobody could look: where it seldom
is the other one, where it may well be, and where it is as often as not. A cause says in its own file what it hides
behind: `hides_behind(verdict, evidence)` gives one of these for the verdict of another cause, or None where somebody
looked, or would have seen it. `ranking` then holds that verdict there, and names the rival as a candidate."""
SURE_FROM = COUNTED
"""A grade below this rests on a witness that is missing, and never is sure, whatever it earns."""
SURE = 0.9
"""From this confidence on people and programs may act on a verdict."""


def confidence_of(grade: Grade) -> float:
    """The share of verdicts of this grade that were right."""
    return CONFIDENCES[grade.name.lower()]
