"""Sees SIGTERM where the program waits for it with `sigwait` and its like: then no handler ever runs."""

import contextlib
import functools
import importlib
import signal
from collections.abc import Callable
from typing import Any

from holter.client.capture.patches import Patches

# `signal.sigwait` looks up the one of `_signal` at each call; its sisters stand in `signal` themselves.
_WAITS = ((importlib.import_module("_signal"), "sigwait"), (signal, "sigwaitinfo"), (signal, "sigtimedwait"))


class AwaitedHook:
    """Calls `keep` with each SIGTERM that the program took out of the queue by itself."""

    def __init__(self, keep: Callable[[int], None]) -> None:
        self._keep = keep
        self._patches = Patches()

    def install(self) -> None:
        """Idempotent."""
        for module, name in _WAITS:
            if hasattr(module, name) and not self._patches.has(module, name):
                self._patches.set(module, name, self._seeing(getattr(module, name)))

    def restore(self) -> None:
        """Idempotent."""
        self._patches.restore()

    def _seeing(self, wait: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(wait)
        def seen(*args: Any, **kwargs: Any) -> Any:
            arrived = wait(*args, **kwargs)
            if getattr(arrived, "si_signo", arrived) == signal.SIGTERM:
                with contextlib.suppress(Exception):  # the boundary: the program gets its signal
                    self._keep(signal.SIGTERM)
            return arrived

        return seen
