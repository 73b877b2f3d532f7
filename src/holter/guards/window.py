"""The last part of a series, and the whole of it in less detail."""

import math
from collections import deque
from collections.abc import Iterator, Sequence

Points = Sequence[tuple[float, float]]
"""Times in seconds, with values."""
RECENT, COARSE = 240, 480
COARSE_S = 15.0


class Window:
    """The values of one series: each of the last four minutes, and the highest of each quarter minute for two hours."""

    def __init__(self) -> None:
        self.recent: deque[tuple[float, float]] = deque(maxlen=RECENT)
        self._coarse: deque[tuple[float, float]] = deque(maxlen=COARSE)
        self._bin_at = float("-inf")
        self._forgotten = float("-inf")

    def add(self, at_s: float, value: float) -> None:
        """A value that nobody could read (NaN) is left out."""
        if value != value:
            return
        self.recent.append((at_s, value))
        if at_s - self._bin_at >= COARSE_S:
            self._bin_at = at_s
            if len(self._coarse) == COARSE:
                self._forgotten = max(self._forgotten, self._coarse[0][1])
            self._coarse.append((at_s, value))
        elif value > self._coarse[-1][1]:
            self._coarse[-1] = (at_s, value)

    @property
    def last(self) -> float:
        """NaN where there is none."""
        return self.recent[-1][1] if self.recent else float("nan")

    @property
    def began_s(self) -> float:
        """When the oldest value that is still known was read."""
        return min(self._coarse[0][0], self.recent[0][0]) if self.recent else 0.0

    def over(self, length_s: float, bins: int) -> list[tuple[float, float]]:
        """The highest value of each of so many parts of the last seconds, the oldest first; none of empty parts."""
        if not self.recent:
            return []
        now = self.recent[-1][0]
        source = self.recent if now - self.recent[0][0] >= length_s or not self._coarse else self._coarse
        width, start = length_s / bins, now - length_s
        highest: dict[int, tuple[float, float]] = {}
        for at, value in self._since(source, start):
            part = min(bins - 1, int((at - start) / width))
            if part not in highest or value > highest[part][1]:
                highest[part] = (at, value)
        return [highest[part] for part in sorted(highest)]

    def growing_since(self, at_s: float, per_s: float) -> float:
        """The moment, this one or an earlier one, from which on it grew by so much in each part of which is known."""
        newer, then, late = at_s, at_s, math.inf
        for at, value in reversed(self._coarse):
            if at > at_s:
                continue
            if late - value < per_s * (then - at):
                return newer  # nothing came in the part that began `then`
            newer, then, late = then, at, value
        return then

    def highest_before(self, at_s: float) -> float:
        """Of the whole run up to a moment; minus infinity where nothing is known of it."""
        return max((value for at, value in self._coarse if at < at_s), default=self._forgotten)

    def mean_since(self, at_s: float) -> float:
        """Of the values that are known one by one; NaN where there is none."""
        values = [value for at, value in self.recent if at >= at_s]
        return sum(values) / len(values) if values else float("nan")

    def covers(self, length_s: float) -> bool:
        """Whether values are known for so long."""
        return bool(self.recent) and self.recent[-1][0] - self.began_s >= length_s

    def per_s(self, length_s: float) -> float:
        """How fast a counter moved over the last seconds; NaN where too little is known."""
        known = list(self._since(self.recent, self.recent[-1][0] - length_s)) if self.recent else []
        if len(known) < 2 or known[-1][0] <= known[0][0]:
            return float("nan")
        return (known[-1][1] - known[0][1]) / (known[-1][0] - known[0][0])

    def _since(self, source: "deque[tuple[float, float]]", start: float) -> Iterator[tuple[float, float]]:
        return ((at, value) for at, value in source if at >= start)
