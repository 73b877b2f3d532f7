"""Which messages a target gets: no repetition, and not too many. Pure but for what it remembers."""

from collections import deque

from holter.alerts.message import DEATH, FINISH, Message
from holter.alerts.target import Target

SAME_S = 60.0
"""What says the same again within so long is left out."""
HOUR_S = 3600.0
MOST_REMEMBERED = 1000


class Gate:
    """Of one target. Used by one thread."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self._told: dict[tuple[str, str, str], float] = {}
        self._sent: deque[float] = deque()
        self.left_out = 0
        """How many were too many since the last one that was let through."""

    def admits(self, message: Message, now_s: float) -> bool:
        """Whether it is sent. How a run ended is never too much: there is one for each."""
        if not self._target.wants(message):
            return False
        before = self._told.get(message.subject)
        if before is not None and now_s - before < SAME_S:
            return False
        while self._sent and now_s - self._sent[0] >= HOUR_S:
            self._sent.popleft()
        if len(self._sent) >= self._target.at_most_per_hour and message.kind not in (DEATH, FINISH):
            self.left_out += 1
            return False
        if len(self._told) >= MOST_REMEMBERED:
            self._told.clear()
        self._told[message.subject] = now_s
        self._sent.append(now_s)
        return True
