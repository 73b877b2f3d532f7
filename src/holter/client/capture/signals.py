"""Sees SIGTERM where the program handles it and no witness is there: records, then calls the program's handler."""

import contextlib
import functools
import importlib
import signal
import threading
from collections.abc import Callable
from typing import Any

from holter.client.capture.patches import Patches

# Here arrive all calls of `signal.signal` and `signal.getsignal`, also of those who imported them before us.
_signal = importlib.import_module("_signal")


class TermHook:
    """Stands before the handlers that the program has for SIGTERM, or sets while the hook is there.

    A program without one keeps Linux's default, which ends it even in the middle of native code; its exit
    status then tells. `signal.signal` and `signal.getsignal` speak of the program's own handlers only.
    """

    def __init__(self, keep: Callable[[int], None]) -> None:
        self._keep = keep
        self._patches = Patches()

    def install(self) -> None:
        """Idempotent. Main thread only: elsewhere Python does not allow it, and only what comes later is seen."""
        if self._patches.has(_signal, "signal"):
            return
        set_handler, get_handler = _signal.signal, _signal.getsignal

        @functools.wraps(set_handler)
        def set_and_see(number: Any, handler: Any, /) -> Any:
            is_seen = number == signal.SIGTERM and callable(handler)
            return _own(set_handler(number, _Seen(handler, self._keep) if is_seen else handler))

        @functools.wraps(get_handler)
        def get_own(number: Any, /) -> Any:
            return _own(get_handler(number))

        self._patches.set(_signal, "signal", set_and_see)
        self._patches.set(_signal, "getsignal", get_own)
        self._set_again()

    def restore(self) -> None:
        """Put the program's handler back. Idempotent; from another thread it stays, and does nothing but call."""
        if not self._patches.has(_signal, "signal"):
            return
        self._patches.restore()
        self._set_again()

    def _set_again(self) -> None:
        handler = _own(_signal.getsignal(signal.SIGTERM))
        if callable(handler) and threading.current_thread() is threading.main_thread():
            _signal.signal(signal.SIGTERM, handler)


class _Seen:
    """A handler of the program's, with somebody who looks."""

    def __init__(self, handler: Callable[..., Any], keep: Callable[[int], None]) -> None:
        self.handler = handler
        self._keep = keep

    def __call__(self, number: int, frame: object, /) -> Any:
        with contextlib.suppress(Exception):  # the boundary: the program's handler must run
            self._keep(number)
        return self.handler(number, frame)


def _own(handler: Any) -> Any:
    return handler.handler if isinstance(handler, _Seen) else handler
