"""A program whose loop of TensorFlow runs one operation after the other, where `tf.function` would make a graph.

For some seconds it is counted how often a gradient tape begins outside of a graph: inside of `tf.function` that happens
only while it is traced.
"""

import functools
import sys
from collections import Counter
from collections.abc import Iterator
from typing import Any

from holter.client.capture.patches import Patches
from holter.client.habits.lines import own_line
from holter.model.clock import Clock
from holter.model.warning_records import Noticed

WITHIN_S = 30.0
ENOUGH = 20
PER_ROW = 0.5


class Eager:
    """Of one program."""

    def __init__(self) -> None:
        self._patches = Patches()
        self._began: tuple[float, int] | None = None
        self._lines: Counter[str] = Counter()
        self._is_over = False

    def look(self, now_s: float, rows: int) -> Iterator[Noticed]:
        """Once enough tapes were seen."""
        if self._is_over or "tensorflow" not in sys.modules or not rows:
            return
        if self._began is None:
            self._count_tapes()
            self._began = now_s, rows
            return
        tapes = self._lines.total()
        if tapes >= ENOUGH and tapes >= PER_ROW * (rows - self._began[1]):
            yield Noticed(
                at_ns=Clock().now_ns(), habit="eager-loop", where=self._lines.most_common(1)[0][0], times=tapes
            )
        elif now_s - self._began[0] > WITHIN_S:
            self.close()

    def close(self) -> None:
        """Count no more. Idempotent."""
        self._is_over = True
        self._patches.restore()

    def _count_tapes(self) -> None:
        tensorflow = sys.modules["tensorflow"]
        tape, is_eager = tensorflow.GradientTape, tensorflow.executing_eagerly
        previous = tape.__enter__

        @functools.wraps(previous)
        def enter(self_: Any) -> Any:
            if is_eager():
                self._lines[own_line(sys._getframe().f_back)] += 1
            return previous(self_)

        self._patches.set(tape, "__enter__", enter)
