"""How well a verdict is supported: one of a few grades, and the confidence that goes with each.

A rule names the grade of its answer. Who joins several facts takes the weakest of them; a witness that is missing or a
rival that nobody could look at lowers the grade (see `rivals`), and words alone never make a verdict sure.
"""

NAMED = 0.97
"""A witness that can't lie says so: Linux, the wait status, the interpreter, a scheduler."""
COUNTED = 0.94
"""A counter, a limit or a status shows it, and nothing else would have left these traces."""
CONSISTENT = 0.88
"""All that was seen fits, but it is text, or something that would look the same could not be looked at."""
LIKELY = 0.76
"""It fits better than what else would look the same."""
INFERRED = 0.65
"""Nothing speaks against it, and little for it."""
REMOTE = 0.3
"""Not more than a candidate."""

GRADES = {
    "named": NAMED,
    "counted": COUNTED,
    "consistent": CONSISTENT,
    "likely": LIKELY,
    "inferred": INFERRED,
    "remote": REMOTE,
}
"""The best first."""
SURE = 0.9
"""From here on people and programs may act on a verdict."""
