"""What is left of a verdict where another cause would have left the same traces, and nobody could look.

A cause says in its own file what it hides behind: `hides_behind(verdict, evidence)` gives one of these for the verdict
of another cause, or None where somebody looked, or would have seen it. A verdict at `SURE` or more has seen something
that speaks for its own cause, and each rival that would look the same could be looked at; else `ranking` holds it at
what the rival leaves of it, and names the rival as a candidate.
"""

SURE = 0.9
UNLIKELY, OPEN, EVEN = 0.88, 0.75, 0.6
"""Where it is seldom the rival, where it may well be, and where it is as often as not."""
