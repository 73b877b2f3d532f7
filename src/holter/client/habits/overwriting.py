"""A program that logs the same names with `commit=False` again and again: each value replaces the one before."""

from typing import Any

from holter.model.clock import Clock
from holter.model.warning_records import Noticed

ENOUGH = 10


class Overwriting:
    """Of one run; only calls with `commit=False` pay for it."""

    def __init__(self) -> None:
        self._step: int | None = None
        self._times: dict[str, int] = {}
        self._found: tuple[str, int] | None = None
        self._has_told = False

    def see(self, data: Any, step: int) -> None:
        """This was logged without going on to the next step."""
        if self._has_told or type(data) is not dict:
            return
        if step != self._step:
            self._step = step
            self._times.clear()
        for name in tuple(data):
            self._times[name] = times = self._times.get(name, 0) + 1
            if times >= ENOUGH:
                self._found = name, times

    def notice(self) -> Noticed | None:
        """Once there was enough of it."""
        if self._has_told or self._found is None:
            return None
        self._has_told = True
        name, times = self._found
        return Noticed(at_ns=Clock().now_ns(), habit="commit-false", what=str(name)[:80], times=times, step=self._step)
