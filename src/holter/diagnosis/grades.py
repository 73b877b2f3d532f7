"""How well a verdict is supported: one of six grades, and the confidence that each has earned.

A rule names the grade of its answer, and all that is weighed is weighed in grades. Who joins several facts takes the
weakest of them; a witness that is missing or a rival that nobody could look at lowers the grade (see `rivals`), and
words alone never make a verdict sure. The number that people see is what verdicts of that grade came to on faults that
no rule was written for: `make zoo` writes it into `earned.py`.
"""

from holter.diagnosis.earned import CONFIDENCES
from holter.model.verdicts import Grade

NAMED, COUNTED, CONSISTENT = Grade.NAMED, Grade.COUNTED, Grade.CONSISTENT
LIKELY, INFERRED, REMOTE = Grade.LIKELY, Grade.INFERRED, Grade.REMOTE
SURE_FROM = COUNTED
"""A grade below this rests on a witness that is missing, and never is sure, whatever it earns."""
SURE = 0.9
"""From this confidence on people and programs may act on a verdict."""


def confidence_of(grade: Grade) -> float:
    """The share of verdicts of this grade that were right."""
    return CONFIDENCES[grade.name.lower()]
