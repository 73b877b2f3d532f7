"""Memory grows with every step, epoch after epoch, though it is far from full.

Looks at what the program and its workers hold themselves (no files, shared pages once), ten minutes after the first row
at the earliest, and where epochs are logged after the second: it must have grown steadily by a tenth and by 256 MiB.
Says which processes grow. `%holter vars`, `run.variables()` and `profile_memory` say what in them.
"""

from collections.abc import Iterator

from holter.guards.growth import Growth
from holter.guards.limits import Limits
from holter.guards.seen import Caution, Seen
from holter.guards.trend import BINS, grows
from holter.guards.window import Window
from holter.model.amounts import size

EVERY_S = 15.0
LENGTHS_S = (600.0, 1800.0, 6000.0)
AGAINST = (
    "keep numbers instead of tensors in lists (loss.item()); run.variables() shows what holds the memory",
    "workers that grow copy what they read of Python objects: keep the dataset in one array",
)


class Check:
    """Follows what one run holds."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._window = Window()
        self._growth = Growth()
        self._looked_s = 0.0
        self._found: Caution | None = None

    def look(self, seen: Seen) -> Iterator[Caution]:
        """That it leaks, as long as it does."""
        self._growth.take(seen)
        self._window.add(seen.now_s, seen.last("system/process/anon_bytes"))
        if seen.now_s - self._looked_s >= EVERY_S:
            self._looked_s = seen.now_s
            self._found = self._judge(seen)
        if self._found is not None:
            yield self._found

    def _judge(self, seen: Seen) -> Caution | None:
        limits, progress = self._limits, seen.progress
        is_young = not seen.now_s - progress.first_s >= limits.leak_least_s
        if is_young or 0 < len(progress.epochs) <= limits.leak_epochs:
            return None
        held = self._window.last
        for length_s in LENGTHS_S:
            if not self._window.covers(length_s) or seen.now_s - progress.first_s < length_s:
                continue
            trend = grows(self._window.over(length_s, BINS), length_s, limits, capacity=held * 2)
            # A twelfth of the window is enough to tell a leak from an epoch that began.
            if trend is None or trend.rise < max(limits.leak_least_bytes, limits.leak_share * held):
                continue
            steps = [(at, step) for at, step in progress.steps if at >= seen.now_s - length_s]
            many = steps[-1][1] - steps[0][1] if len(steps) > 1 else 0
            each = f", {size(trend.rise / many)}/step" if many > 0 else ""
            where = self._growth.where(seen.now_s - length_s) or "the program"
            return Caution(
                text=f"memory leaks in {where}: {size(trend.rise)} in {length_s / 60:.0f} min{each}, {size(held)} now",
                advice=AGAINST[::-1] if "workers" in where else AGAINST[:1],
                since_s=trend.since_s,
                figures={"series": "system/process/anon_bytes", "bytes_per_s": trend.slope, "used_bytes": held},
            )
        return None


def open_check(limits: Limits) -> Check:
    """The check of one run."""
    return Check(limits)
