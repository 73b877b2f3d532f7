"""The one place where holter's own failures stop, so that they never reach the training."""

import functools
from collections.abc import Callable
from typing import Concatenate, ParamSpec, Protocol, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


class Reporter(Protocol):
    """Whoever has methods that must not raise."""

    def report(self, doing: str, error: Exception) -> None:
        """Count a failure and say it once."""


S = TypeVar("S", bound=Reporter)


def harmless(method: Callable[Concatenate[S, P], R]) -> Callable[Concatenate[S, P], R | None]:
    """Make a public method report its own failure instead of raising it, and return None then."""

    @functools.wraps(method)
    def guarded(self: S, /, *args: P.args, **kwargs: P.kwargs) -> R | None:
        try:
            return method(self, *args, **kwargs)
        except Exception as error:  # noqa: BLE001  the boundary
            self.report(method.__name__, error)
            return None

    return guarded
