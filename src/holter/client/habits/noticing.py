"""Looks once a second, while a program logs, whether it has one of the habits that a guard speaks of."""

from collections.abc import Callable, Iterable
from typing import Protocol

from holter.client.habits.clearing import Clearing
from holter.client.habits.collecting import Collecting
from holter.client.habits.eager import Eager
from holter.client.habits.resident import Resident
from holter.errors import is_strict
from holter.model.record import Record
from holter.model.warning_records import Noticed


class Habit(Protocol):
    """One that is told once."""

    def look(self, now_s: float, rows: int) -> Iterable[Noticed]:
        """What is seen now. `rows` is how many were logged so far."""

    def close(self) -> None:
        """Put back what was replaced. Idempotent."""


class Noticing:
    """Of one run. Used by the thread that logs.

    Args:
        keep: takes what is noticed.
    """

    def __init__(self, keep: Callable[[Record], None]) -> None:
        self._keep = keep
        self.habits: list[Habit] = [Collecting(), Clearing(), Eager(), Resident()]

    def look(self, now_s: float, rows: int) -> None:
        """What one of them fails at is no matter to the others, nor to the program: it is not looked at again."""
        for habit in self.habits.copy():
            try:
                found = list(habit.look(now_s, rows))
            except Exception:  # the boundary: another release of a library may have other insides
                self._drop(habit)
                if is_strict():
                    raise
                continue
            for noticed in found:
                self._keep(noticed)
                self._drop(habit)

    def close(self) -> None:
        """Look no more. Idempotent."""
        for habit in self.habits.copy():
            self._drop(habit)

    def _drop(self, habit: Habit) -> None:
        if habit in self.habits:
            self.habits.remove(habit)
            habit.close()
