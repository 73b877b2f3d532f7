"""How good the verdicts were. Pure: cases in, numbers out."""

import math
from collections import Counter
from collections.abc import Iterable, Sequence

import msgspec

from holter.diagnosis.grades import GRADES
from tests.zoo.case import Case

CONFIDENT = 0.9
Z = 1.96


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
    """What the verdicts of one grade came to."""

    grade: str
    confidence: float
    verdicts: int
    right: int

    @property
    def interval(self) -> tuple[float, float]:
        """In which the share of right ones lies, at 95 % (Wilson)."""
        share, weight = self.right / self.verdicts, Z**2 / self.verdicts
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
    """How often the verdicts of each grade were right, the best grade first; none of a grade without verdicts."""
    named = [case for case in deaths(cases) if not case.is_abstention]
    found = []
    for grade, confidence in GRADES.items():
        inside = [case.cause in case.truths for case in named if case.confidence >= confidence]
        named = [case for case in named if case.confidence < confidence]
        if inside:
            found.append(Earned(grade, confidence, len(inside), sum(inside)))
    return found


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
