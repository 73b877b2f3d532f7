"""How often each of many senders may send, so that all of them together don't overrun one server."""

import threading

MESSAGES_PER_S = 250.0
"""Less than a key may ask for in the long run, and than a machine with other work can do."""
LEAST_S, WATCHED_LEAST_S = 1.0, 0.5
"""The second while somebody looks at the page."""
MOST_S = 10.0
"""Heartbeats come every 5 s and are late after 15: a run that waits longer would look dead."""


class Pacer:
    """Counts the runs that send. Thread-safe; times are those of one monotonic clock."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._heard: dict[str, float] = {}
        self._pruned_at = 0.0
        self._live = 0

    def note(self, run: str, now: float, *, is_watched: bool, behind_s: float = 0.0) -> float:
        """A run has sent something; returns how many seconds it should wait before it sends again.

        An index that is behind gets fewer messages, which are larger: those cost it less.
        """
        with self._lock:
            self._heard[run] = now
            if now - self._pruned_at > 1.0:
                self._pruned_at = now
                self._heard = {each: at for each, at in self._heard.items() if now - at < 2 * MOST_S}
                self._live = len(self._heard)
            least_s = WATCHED_LEAST_S if is_watched else LEAST_S
            return min(MOST_S, max(least_s, self._live / MESSAGES_PER_S, behind_s / 2))
