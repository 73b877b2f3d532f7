"""What an agent says in the terminal: a line for each trial, with how far the sweep is and when it will be done."""

import sys
import time
from collections.abc import Callable, Mapping
from typing import Any, TextIO

from holter.sweeps.words import Lease, Outcome

MOST_VALUE = 40


class Progress:
    """Prints lines to stderr; nothing where `is_silent`."""

    def __init__(
        self,
        *,
        metric: str,
        goal: str,
        most: int | None,
        is_silent: bool = False,
        stream: TextIO | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._metric = metric
        self._is_maximized = goal == "maximize"
        self._most = most
        self._is_silent = is_silent
        self._stream = stream
        self._clock = clock
        self._began = self._trial_began = clock()
        self._done = 0
        self._best: tuple[float, int] | None = None
        self._waits_for = ""

    def begin(self, lease: Lease) -> None:
        """A trial begins."""
        self._trial_began, self._waits_for = self._clock(), ""
        again = f", attempt {lease.fence}" if lease.fence > 1 else ""
        self.say(f"trial {lease.number}{again}: {_values(lease.params)}")

    def end(self, lease: Lease, outcome: Outcome | None) -> None:
        """It has ended; None where it is somebody else's by now."""
        took = self._clock() - self._trial_began
        self._done += 1
        if outcome is None:
            self.say(f"trial {lease.number}: its lease was lost, so nothing of it counts; another agent has it")
            return
        self.say(f"trial {lease.number} {self._how(lease, outcome)} after {_duration(took)}{self._outlook(lease)}")

    def wait(self, why: str) -> None:
        """There is no trial now; said once for each reason."""
        if why != self._waits_for:
            self._waits_for = why
            self.say(f"waiting: {why}")

    def say(self, text: str) -> None:
        """One line."""
        if not self._is_silent:
            stream = self._stream or sys.stderr
            stream.write(f"holter: {text}\n")
            stream.flush()

    def _how(self, lease: Lease, outcome: Outcome) -> str:
        if outcome.is_given_back:
            return "was given back"
        if outcome.is_pruned:
            return "was ended early"
        if outcome.state != "finished":
            return f"{outcome.state} ({outcome.cause})" if outcome.cause else outcome.state
        if outcome.value is None:
            return f"finished without {self._metric}" if self._metric else "finished"
        best = self._best
        if best is None or (outcome.value > best[0]) == self._is_maximized:
            self._best = (outcome.value, lease.number)
        return f"finished with {self._metric} {outcome.value:.6g}"

    def _outlook(self, lease: Lease) -> str:
        best = f"; best of this agent {self._best[0]:.6g} (trial {self._best[1]})" if self._best else ""
        if self._most is None:
            return best
        left = self._most - lease.number - 1
        pace = (self._clock() - self._began) / self._done
        eta = f", at most {_duration(left * pace)} to go" if left > 0 else ""
        return f"{best}; {lease.number + 1} of {self._most} begun{eta}"


def _values(params: Mapping[str, Any]) -> str:
    return " ".join(f"{name}={_value(value)}" for name, value in params.items())


def _value(value: Any) -> str:
    text = f"{value:.6g}" if isinstance(value, float) else str(value)
    return text if len(text) <= MOST_VALUE else f"{text[: MOST_VALUE - 1]}…"


def _duration(seconds: float) -> str:
    if seconds < 100:
        return f"{seconds:.1f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 100 else f"{minutes // 60} h {minutes % 60} min"
