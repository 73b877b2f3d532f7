"""All guards of one run: asks each, and says what is new. What one of them fails at is no matter to the others."""

import importlib
from collections.abc import Callable, Iterable, Mapping
from types import ModuleType

import msgspec

from holter.guards import checks
from holter.guards.limits import Limits
from holter.guards.seen import Caution, Check, Seen
from holter.lean import modules_in
from holter.model.warning_records import Eased, Warned

HOLD_S = 20.0


class Told(msgspec.Struct, frozen=True, kw_only=True):
    """One thing to write down; `is_said` where people are to hear of it, `is_pressing` where time is short."""

    record: Warned | Eased
    is_said: bool = False
    is_pressing: bool = False


class _Episode(msgspec.Struct):
    """What a guard has to say of one subject."""

    began_s: float
    seen_s: float
    said_s: float = float("-inf")
    times: int = 0
    is_open: bool = False
    is_pressing: bool = False


class Patrol:
    """One run's guards. One thread.

    Args:
        found: the checks by the ids of their guards.
        silenced: ids of guards that nobody wants to hear; they look all the same, for who changes their mind.
        failed: is told of a guard that failed, once for each.
    """

    def __init__(
        self,
        found: Mapping[str, Check],
        limits: Limits,
        *,
        silenced: Iterable[str] = (),
        failed: Callable[[str, Exception], None] = lambda guard, error: None,
    ) -> None:
        self.silenced = set(silenced)
        self._checks = dict(found)
        self._limits = limits
        self._failed = failed
        self._failures: dict[str, int] = {}
        self._episodes: dict[tuple[str, str], _Episode] = {}

    def look(self, seen: Seen) -> list[Told]:
        """What is to be said after this moment. Never raises."""
        told: list[Told] = []
        for guard, check in list(self._checks.items()):
            try:
                cautions = list(check.look(seen))
            except Exception as error:  # noqa: BLE001  the place where a guard's failure stops
                self._count_failure(guard, error)
                continue
            for caution in cautions:
                told += self._take(guard, caution, seen)
        told += self._ease(seen)
        return told

    def _take(self, guard: str, caution: Caution, seen: Seen) -> list[Told]:
        key = (guard, caution.subject)
        if (known := self._episodes.get(key)) is None:
            known = self._episodes[key] = _Episode(seen.now_s, seen.now_s)
        known.seen_s = seen.now_s
        if guard in self.silenced:
            return []
        is_escalation = caution.is_pressing and not known.is_pressing
        may_repeat = seen.now_s - known.said_s >= self._limits.again_after_s
        is_new = not known.is_open and may_repeat and known.times < self._limits.most_said
        known.is_pressing = caution.is_pressing
        if not is_new and not (is_escalation and known.times):
            return []
        if is_new:
            known.times, known.said_s = known.times + 1, seen.now_s
        known.is_open = not caution.at_once
        return [Told(record=_written(guard, caution, seen), is_said=is_new, is_pressing=caution.is_pressing)]

    def _ease(self, seen: Seen) -> list[Told]:
        over = [key for key, each in self._episodes.items() if each.is_open and seen.now_s - each.seen_s > HOLD_S]
        for key in over:
            self._episodes[key].is_open = self._episodes[key].is_pressing = False
        return [Told(record=Eased(at_ns=seen.now_ns, guard=guard, subject=subject)) for guard, subject in over]

    def _count_failure(self, guard: str, error: Exception) -> None:
        self._failures[guard] = self._failures.get(guard, 0) + 1
        if self._failures[guard] == 1:
            self._failed(guard, error)
        elif self._failures[guard] >= 10:  # it will not get better, and each failure costs
            del self._checks[guard]


def _written(guard: str, caution: Caution, seen: Seen) -> Warned:
    since_ns = None
    if caution.since_s is not None:
        since_ns = max(0, seen.now_ns - int((seen.now_s - caution.since_s) * 1e9))
    return Warned(
        at_ns=seen.now_ns,
        guard=guard,
        subject=caution.subject,
        text=caution.text,
        advice=caution.advice,
        since_ns=since_ns,
        eta_s=_bounded(caution.eta_s),
        eta_least_s=_bounded(caution.eta_least_s),
        eta_most_s=_bounded(caution.eta_most_s),
        figures=caution.figures,
    )


def _bounded(length_s: float | None) -> float | None:
    """As a record can hold it: None for what has no end."""
    return round(length_s, 3) if length_s is not None and 0 <= length_s < 1e9 else None


def guard_ids() -> list[str]:
    """All guards, by the names of their files."""
    return [name.replace("_", "-") for name in modules_in(checks)]


def in_short(guard: str) -> str:
    """The first sentence of what a guard says of itself, without its full stop."""
    first = str(guard_modules()[guard].__doc__).partition("\n\n")[0]
    return " ".join(first.split()).rstrip(".")


def guard_modules() -> dict[str, ModuleType]:
    """The file of each guard by its id."""
    return {each: importlib.import_module(f"{checks.__name__}.{each.replace('-', '_')}") for each in guard_ids()}


def open_patrol(
    silenced: Iterable[str] = (),
    *,
    limits: Limits | None = None,
    failed: Callable[[str, Exception], None] = lambda guard, error: None,
) -> Patrol:
    """All guards, for one run."""
    limits = limits or Limits()
    found = {guard: module.open_check(limits) for guard, module in guard_modules().items()}
    return Patrol(found, limits, silenced=silenced, failed=failed)
