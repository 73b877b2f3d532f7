"""What came of one fault in one mode."""

from typing import Any

import msgspec

from holter.diagnosis.grades import SURE
from holter.model.evidence import Evidence
from holter.model.verdicts import Grade
from tests.zoo.fault import Fault
from tests.zoo.modes import RUN, Mode


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """One death (or normal end) with what was said about it."""

    fault: str
    kind: str
    share: str
    mode: Mode
    truths: tuple[str | None, ...]
    state: str
    trouble: str = ""
    """Why the fault did not happen as it should have; then the verdict counts for nothing."""
    ended: int | None = None
    answer: dict[str, Any] = {}
    verdict_s: float | None = None
    """From the death to the first answer that stayed."""
    output: str = ""
    evidence: Evidence | None = None
    """What the answer rests on; None where there was no answer."""

    @classmethod
    def of(cls, fault: Fault, mode: Mode) -> "Case":
        """The case as it is expected, before it happens."""
        is_outside = mode.watch == RUN
        return cls(
            fault=fault.name,
            kind=fault.kind,
            share=fault.share,
            mode=mode,
            truths=(fault.without_client if is_outside and fault.without_client else fault.truths),
            state=(fault.run_state if is_outside and fault.run_state else fault.state),
        )

    @property
    def cause(self) -> str | None:
        """As holter says."""
        return self.answer.get("cause")

    @property
    def confidence(self) -> float:
        """As holter says."""
        return float(self.answer.get("confidence") or 0.0)

    @property
    def grade(self) -> Grade:
        """How well that was supported; to see no cause is a claim, too."""
        if said := self.answer.get("grade"):
            return Grade[str(said).upper()]
        return Grade.NAMED if self.confidence >= SURE else Grade.CONSISTENT

    @property
    def is_right(self) -> bool:
        """Cause and state are both as they were."""
        return not self.trouble and "error" not in self.answer and self.cause in self.truths and self.is_right_state

    @property
    def is_right_state(self) -> bool:
        """The state alone."""
        return self.answer.get("state") == self.state

    @property
    def is_abstention(self) -> bool:
        """Holter says that it does not know."""
        return self.cause == "unknown"

    @property
    def words(self) -> str:
        """For people: what was expected, what came."""
        truths = " or ".join(truth or "no cause" for truth in self.truths)
        said = f"{self.answer.get('state')}/{self.cause or 'no cause'} at {self.confidence:.2f}"
        return f"{self.fault} ({self.mode.name}): {self.state}/{truths} became {said}"
