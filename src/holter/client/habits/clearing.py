"""A program that calls Keras's `clear_session()` again and again while it trains the same models.

Keras 3 begins its global state anew at each such call; to see that, nothing of it needs to be replaced.
"""

import gc
import sys
import weakref
from collections.abc import Iterator
from typing import Any

from holter.model.clock import Clock
from holter.model.warning_records import Noticed

STATE = "keras.src.backend.common.global_state"
ENOUGH = 3


class Clearing:
    """Of one program."""

    def __init__(self) -> None:
        self._state: weakref.ref[Any] | None = None
        self._models: set[int] = set()
        self._times = 0

    def look(self, now_s: float, rows: int) -> Iterator[Noticed]:
        """At the third call since which no model was made."""
        state = getattr(sys.modules.get(STATE), "GLOBAL_STATE_TRACKER", None)
        if state is None:
            return
        before, self._state = self._state, weakref.ref(state)
        if before is None or before() is state:
            return
        models = _models()
        self._times = self._times + 1 if models and models <= self._models else 1
        self._models = models
        if self._times >= ENOUGH:
            yield Noticed(at_ns=Clock().now_ns(), habit="clear-session", times=self._times)

    def close(self) -> None:
        """There is nothing to put back."""


def _models() -> set[int]:
    """Those that live. Some ten milliseconds, and only after such a call."""
    model = getattr(sys.modules.get("keras"), "Model", None)
    if not isinstance(model, type):
        return set()
    return {id(each) for each in gc.get_objects() if issubclass(type(each), model)}
