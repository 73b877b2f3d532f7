"""What the server says on stderr: the same thing once, then how often; and never more than a terminal can bear."""

import logging
import sys
import threading
import time
from collections import OrderedDict
from collections.abc import Callable

AGAIN_S = 60.0
# Within that time, of all that is different.
MOST_TEXTS, MOST_CHARACTERS = 20, 4_000


def _write(text: str) -> None:
    sys.stderr.write(text)
    sys.stderr.flush()


class Complaints:
    """Thread-safe."""

    def __init__(self, write: Callable[[str], None] = _write, clock: Callable[[], float] = time.monotonic) -> None:
        self._write = write
        self._clock = clock
        self._lock = threading.Lock()
        self._said: OrderedDict[str, tuple[float, int]] = OrderedDict()
        """By text, when it was written and how often it came since."""
        self._left_out = 0
        self._left_out_at = 0.0

    def say(self, text: str) -> None:
        """Write a text down, unless it was a moment ago, or too much was."""
        text, now = text.strip()[:MOST_CHARACTERS], self._clock()
        with self._lock:
            at, count = self._said.get(text, (-AGAIN_S, 0))
            if now - at < AGAIN_S:
                self._said[text] = (at, count + 1)
                return
            self._forget(now)
            if len(self._said) >= MOST_TEXTS:
                self._leave_out(now)
                return
            self._said[text] = (now, 0)
            self._said.move_to_end(text)
            told = f" ({count:,} times more in the last minutes)" if count else ""
            self._write(f"holter: {text}{told}\n")

    def _forget(self, now: float) -> None:
        for text, (at, count) in list(self._said.items()):
            if now - at >= AGAIN_S and not count:
                del self._said[text]
        while len(self._said) >= MOST_TEXTS and now - next(iter(self._said.values()))[0] >= AGAIN_S:
            self._said.popitem(last=False)

    def _leave_out(self, now: float) -> None:
        self._left_out += 1
        if now - self._left_out_at >= AGAIN_S or self._left_out == 1:
            self._write(f"holter: more went wrong than is written here; left out so far: {self._left_out:,}\n")
            self._left_out_at = now


class ComplainingHandler(logging.Handler):
    """Gives what a library logs to the complaints."""

    def __init__(self, complaints: Complaints) -> None:
        super().__init__(logging.WARNING)
        self._complaints = complaints

    def emit(self, record: logging.LogRecord) -> None:
        """One record."""
        self._complaints.say(self.format(record))
