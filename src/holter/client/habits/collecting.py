"""A program that calls `gc.collect()` in each step.

How often all of its objects were gone through is a number that Python keeps. Only where that goes with the rows is it
looked at from where the calls come.
"""

import gc
import sys
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

from holter.client.habits.lines import is_own, own_line
from holter.model.clock import Clock
from holter.model.warning_records import Noticed

WINDOW_ROWS, WINDOW_S = 10, 50.0
PER_ROW = 0.8
MOST_TRIES = 3
OLDEST = 2


class Collecting:
    """Of one program."""

    def __init__(self) -> None:
        self._since: tuple[float, int, int] | None = None
        self._tries = 0
        self._is_listening = False
        self._lines: Counter[str] = Counter()
        self._took_s = self._began_s = 0.0

    def look(self, now_s: float, rows: int) -> Iterator[Noticed]:
        """Once it is known from where the calls come."""
        full = gc.get_stats()[OLDEST]["collections"]
        if self._since is None:
            self._since = now_s, rows, full
            return
        since_s, rows_before, full_before = self._since
        if rows - rows_before < WINDOW_ROWS and now_s - since_s < WINDOW_S:
            return
        self._since = now_s, rows, full
        is_frequent = rows - rows_before >= WINDOW_ROWS and full - full_before >= PER_ROW * (rows - rows_before)
        if self._is_listening:
            self.close()
            calls = self._lines.total()
            if is_frequent and calls >= PER_ROW * (rows - rows_before):
                yield Noticed(
                    at_ns=Clock().now_ns(),
                    habit="gc-collect",
                    where=self._lines.most_common(1)[0][0],
                    times=calls,
                    took_s=self._took_s / calls,
                    share=self._took_s / (now_s - since_s),
                )
        elif is_frequent and self._tries < MOST_TRIES:
            self._tries += 1
            self._lines.clear()
            self._took_s, self._is_listening = 0.0, True
            gc.callbacks.append(self._hear)

    def close(self) -> None:
        """Listen no more. Idempotent."""
        self._is_listening = False
        if self._hear in gc.callbacks:
            gc.callbacks.remove(self._hear)

    def _hear(self, phase: str, details: dict[str, Any]) -> None:
        """Python goes through its objects, because the innermost line asked for it or since there are many new ones."""
        frame = sys._getframe().f_back
        if details["generation"] != OLDEST or frame is None:
            return
        if not is_own(frame) or "collect" not in frame.f_code.co_names:
            return
        if phase == "start":
            self._began_s = time.perf_counter()
        elif self._began_s:
            self._took_s += time.perf_counter() - self._began_s
            self._lines[own_line(frame)] += 1
