"""Memory will be full soon: the container's (at every level above the program), the machine's, a GPU's, /dev/shm.

Sees growth into places where the memory never was, over windows from 24 s to 2 h, and believes it for a few times as
long as it was seen. Growth that slows down (a warm-up, a cache that fills) and memory that Linux can give back at once
don't count, nor does a first climb before anything was logged while half of the memory is free. Of a run that has not
done two epochs yet (20 minutes, where none are logged) it speaks two minutes ahead: what fills a cache evenly looks
like a leak until it stops. What others on the machine take counts from 85 % on. What grows by more than is left in
30 s, or in one allocation, nobody can foresee.
"""

from collections.abc import Iterator

import msgspec

from holter.guards.growth import COPIES, Growth
from holter.guards.limits import Limits
from holter.guards.pools import Pool, pools_of
from holter.guards.seen import Caution, Seen
from holter.guards.trend import BINS, Trend, forecast
from holter.guards.window import Window
from holter.model.amounts import seconds, size

EVERY_S = 2.0
HOLD_S = 30.0
SAVE = "save a checkpoint now; holter.on_pressure(save) would do so by itself"
_AGAINST = {
    "host": "keep numbers instead of tensors (loss.item()), a smaller batch, fewer workers",
    "workers": "keep the dataset in one array (numpy, torch) instead of Python objects: to read those writes to them",
    "gpu": "a smaller batch, torch.no_grad() where nothing is learned, loss.item() instead of loss",
    "shm": "fewer workers or a smaller prefetch_factor; in a container a larger /dev/shm (docker run --shm-size=8g)",
}


class _Filling(msgspec.Struct):
    """What is known of one memory."""

    window: Window
    votes: int = 0
    trend: Trend | None = None
    confirmed_s: float = 0.0


class Check:
    """Follows each memory by itself."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._known: dict[str, _Filling] = {}
        self._looked_s = -EVERY_S
        self._growth = Growth()
        self._own = Window()

    def look(self, seen: Seen) -> Iterator[Caution]:
        """All memories that will be full before long."""
        is_due = seen.now_s - self._looked_s >= EVERY_S
        if is_due:
            self._looked_s = seen.now_s
            self._growth.take(seen)
        self._own.add(seen.now_s, seen.last("system/process/anon_bytes"))
        for pool in pools_of(seen):
            filling = self._known.setdefault(pool.subject, _Filling(Window()))
            filling.window.add(seen.now_s, pool.used_bytes)
            if is_due:
                self._vote(filling, pool, seen)
            if filling.trend is not None:
                yield self._tell(pool, filling.trend, seen)

    def _vote(self, filling: _Filling, pool: Pool, seen: Seen) -> None:
        trend = forecast(filling.window, pool.capacity_bytes, self._limits)
        if trend is not None and filling.trend is None and self._may_wait(trend, pool, filling.window, seen=seen):
            trend = None
        filling.votes = filling.votes + 1 if trend is not None else 0
        if filling.votes >= self._limits.votes:
            filling.trend, filling.confirmed_s = trend, seen.now_s
        elif filling.trend is not None and trend is None and seen.now_s - filling.confirmed_s > HOLD_S:
            filling.trend = None

    def _may_wait(self, trend: Trend, pool: Pool, window: Window, *, seen: Seen) -> bool:
        """Whether there is time to see how this climb goes on: many end by themselves."""
        return (
            self._is_first_climb(pool, seen)
            or self._is_of_others(trend, pool)
            or self._is_young(trend, pool, window, seen=seen)
        )

    def _is_first_climb(self, pool: Pool, seen: Seen) -> bool:
        first_s = seen.progress.first_s
        is_early = not seen.progress.rows or seen.now_s - first_s < self._limits.first_climb_s
        return is_early and pool.used_bytes < self._limits.first_climb_share * pool.capacity_bytes

    def _is_of_others(self, trend: Trend, pool: Pool) -> bool:
        """Of a machine that many share; where nobody knows what the run has, it may be the one."""
        if not pool.is_shared or pool.used_bytes >= self._limits.others_share * pool.capacity_bytes:
            return False
        own = self._own.over(trend.length_s, BINS)
        return len(own) > 1 and own[-1][1] - own[0][1] < self._limits.own_share * trend.rise

    def _is_young(self, trend: Trend, pool: Pool, window: Window, *, seen: Seen) -> bool:
        """Whether it may still fill what it keeps, as in first epochs, and there are some minutes left."""
        progress, limits = seen.progress, self._limits
        began_s = progress.first_s if progress.rows else window.began_s
        is_young = seen.now_s - began_s < limits.young_s and len(progress.epochs) <= limits.leak_epochs
        eta_s = trend.eta_s(pool.capacity_bytes - pool.used_bytes)
        is_low = pool.used_bytes < limits.young_share * pool.capacity_bytes
        return is_young and eta_s > (limits.young_least_s if is_low else limits.young_horizon_s)

    def _tell(self, pool: Pool, trend: Trend, seen: Seen) -> Caution:
        room = max(0.0, pool.capacity_bytes - pool.used_bytes)
        eta_s = room / trend.slope
        where = self._growth.where(trend.since_s) if pool.subject.startswith(("cgroup", "host")) else ""
        how = f"growing {self._rate(trend, seen)}{f' in {where}' if where else ''}{_since(trend, seen)}"
        kind = pool.subject.partition("/")[0]
        against = _AGAINST["workers" if COPIES in where else kind if kind in _AGAINST else "host"]
        is_near = pool.used_bytes >= self._limits.pressing_share * pool.capacity_bytes
        return Caution(
            subject=pool.subject,
            text=f"{pool.arrives} in about {seconds(eta_s)} ({how})",
            advice=(SAVE, against),
            since_s=trend.since_s,
            eta_s=eta_s,
            eta_least_s=room / trend.most,
            eta_most_s=room / trend.least,
            figures={
                "series": pool.series,
                "used_bytes": pool.used_bytes,
                "limit_bytes": pool.capacity_bytes,
                "bytes_per_s": trend.slope,
                "seen_s": trend.length_s,
            },
            is_pressing=eta_s <= self._limits.pressing_s or is_near,
        )

    def _rate(self, trend: Trend, seen: Seen) -> str:
        steps = seen.progress.steps
        if len(steps) >= 2 and steps[-1][1] > steps[0][1] and steps[-1][0] > steps[0][0]:
            for_one = (steps[-1][0] - steps[0][0]) / (steps[-1][1] - steps[0][1])
            return f"{size(trend.slope * for_one)}/step"
        return f"{size(trend.slope * 60)}/min"


def _since(trend: Trend, seen: Seen) -> str:
    step = next((step for at, step in seen.progress.steps if at >= trend.since_s), None)
    return f", since step {step:,}" if step is not None else ""


def open_check(limits: Limits) -> Check:
    """The check of one run."""
    return Check(limits)
