"""How good the verdicts were. Pure: cases in, numbers out."""

import math
from collections import Counter
from collections.abc import Iterable, Sequence

import msgspec

from holter.diagnosis.grades import SURE, SURE_FROM
from holter.model.verdicts import Grade
from tests.zoo.case import Case

CONFIDENT = SURE
Z = 1.96
FEW = 100
"""Of fewer verdicts their share says little: a grade then promises no more than the lower end of its interval."""
MOST_UNSURE = 0.899
"""Of a grade that rests on a missing witness: whatever it earned, nobody is to act on it."""


class Figures(msgspec.Struct, frozen=True, kw_only=True):
    """Of some cases. Shares are of all deaths, None where there was none."""

    cases: int
    right: float | None
    """Cause and state."""
    right_state: float | None
    abstained: float | None
    confident: float | None
    """Verdicts at `CONFIDENT` or above."""
    wrong_confident: int
    brier: float | None
    """The mean square of confidence minus truth, of all verdicts; to see no cause in a death is one too."""
    p50_s: float | None
    p95_s: float | None


class Earned(msgspec.Struct, frozen=True):
    """What the verdicts of one grade came to; of the lowest, how often the first candidate was it."""

    grade: Grade
    verdicts: int
    right: int

    @property
    def share(self) -> float:
        """Of those that were right."""
        return self.right / self.verdicts if self.verdicts else 0.0

    @property
    def interval(self) -> tuple[float, float]:
        """In which the share of right ones lies, at 95 % (Wilson)."""
        if not self.verdicts:
            return 0.0, 1.0
        share, weight = self.share, Z**2 / self.verdicts
        middle = (share + weight / 2) / (1 + weight)
        half = Z * math.sqrt(share * (1 - share) / self.verdicts + weight / self.verdicts / 4) / (1 + weight)
        return max(0.0, middle - half), min(1.0, middle + half)


def deaths(cases: Iterable[Case]) -> list[Case]:
    """Those that happened as they should have, and need an explanation."""
    return [case for case in cases if not case.trouble and case.truths != (None,)]


def normal_ends(cases: Iterable[Case]) -> list[Case]:
    """Those that happened as they should have, and need none."""
    return [case for case in cases if not case.trouble and case.truths == (None,)]


def false_verdicts(cases: Iterable[Case]) -> list[Case]:
    """Normal ends about which anything was said."""
    return [case for case in normal_ends(cases) if not case.is_right]


def wrong_confident(cases: Iterable[Case]) -> list[Case]:
    """Wrong, and sure of it: in the cause, or in seeing none."""
    return [
        case
        for case in cases
        if not case.trouble
        and not case.is_abstention
        and case.cause not in case.truths
        and case.confidence >= CONFIDENT
    ]


def measure(cases: Sequence[Case]) -> Figures:
    """The figures of the page."""
    dead = deaths(cases)
    named = [case for case in dead if not case.is_abstention]
    times = sorted(case.verdict_s for case in dead if case.verdict_s is not None)
    return Figures(
        cases=len(dead),
        right=_share(dead, [case.is_right for case in dead]),
        right_state=_share(dead, [case.is_right_state for case in dead]),
        abstained=_share(dead, [case.is_abstention for case in dead]),
        confident=_share(dead, [case in named and case.confidence >= CONFIDENT for case in dead]),
        wrong_confident=len(wrong_confident(cases)),
        brier=sum((case.confidence - (case.cause in case.truths)) ** 2 for case in named) / len(named)
        if named
        else None,
        p50_s=_quantile(times, 0.50),
        p95_s=_quantile(times, 0.95),
    )


def earned(cases: Iterable[Case]) -> list[Earned]:
    """How often the verdicts of each grade were right, the best grade first."""
    said: dict[Grade, list[bool]] = {grade: [] for grade in sorted(Grade, reverse=True)}
    for case in deaths(cases):
        guess = next(iter(case.answer.get("candidates", ())), None) if case.is_abstention else case.cause
        said[case.grade].append(guess in case.truths)
    return [Earned(grade, len(hits), sum(hits)) for grade, hits in said.items()]


def promises(found: Sequence[Earned]) -> dict[Grade, float]:
    """The confidence of each grade: the share that was right, but

    - neighbours of which the worse one earned more can't be told apart, and promise what both together earned;
    - where there are `FEW`, or none was wrong yet, the lower end of the interval is what is known;
    - no grade promises less than a worse one, of which more is known;
    - a grade that rests on a missing witness stays below `SURE`.
    """
    groups: list[tuple[list[Grade], Earned]] = []
    for each in found:
        grades = [each.grade]
        while groups and each.verdicts and groups[-1][1].share < each.share:
            better, before = groups.pop()
            grades = better + grades
            each = Earned(grades[0], before.verdicts + each.verdicts, before.right + each.right)  # noqa: PLW2901
        groups.append((grades, each))
    promised: dict[Grade, float] = {}
    for grades, pooled in reversed(groups):
        for grade in reversed(grades):
            promised[grade] = max([_promise(grade, pooled), *promised.values()])
    return dict(sorted(promised.items(), reverse=True))


def _promise(grade: Grade, pooled: Earned) -> float:
    is_unknown = pooled.verdicts < FEW or pooled.right == pooled.verdicts
    known = math.ceil(1000 * pooled.interval[0]) / 1000 if is_unknown else round(pooled.share, 3)
    return known if grade >= SURE_FROM else min(known, MOST_UNSURE)


def confusion(cases: Iterable[Case]) -> dict[str, Counter[str]]:
    """For each true cause, how often each cause was named. An equivalent cause counts as the true one."""
    matrix: dict[str, Counter[str]] = {}
    for case in cases:
        if not case.trouble:
            truth = case.truths[0] or "no cause"
            said = truth if case.cause in case.truths else case.cause or "no cause"
            matrix.setdefault(truth, Counter())[said] += 1
    return dict(sorted(matrix.items()))


def _share(cases: Sequence[Case], hits: Iterable[bool]) -> float | None:
    return sum(hits) / len(cases) if cases else None


def _quantile(ordered: Sequence[float], share: float) -> float | None:
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))] if ordered else None
