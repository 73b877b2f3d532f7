"""Sees SIGTERM where the program handles it: records, then calls the program's handler."""

import contextlib
import signal
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any


class TermHook:
    """Chains to a SIGTERM handler that the program had before `init()`.

    A program without one keeps the kernel's default, which ends it even in the middle of native code; its exit
    status then tells. Main thread only: elsewhere Python does not allow it, and nothing is installed.
    """

    def __init__(self, keep: Callable[[int], None]) -> None:
        self._keep = keep
        self._previous: Any = None

    def install(self) -> None:
        """Idempotent."""
        previous = signal.getsignal(signal.SIGTERM)
        if threading.current_thread() is not threading.main_thread() or not callable(previous) or self._previous:
            return
        self._previous = previous
        signal.signal(signal.SIGTERM, self._arrived)

    def restore(self) -> None:
        """Put the program's handler back, unless it has set another since."""
        if self._previous is None or threading.current_thread() is not threading.main_thread():
            return
        if signal.getsignal(signal.SIGTERM) == self._arrived:
            signal.signal(signal.SIGTERM, self._previous)
        self._previous = None

    def _arrived(self, number: int, frame: FrameType | None) -> None:
        previous = self._previous
        with contextlib.suppress(Exception):  # the boundary: the program's handler must run
            self._keep(number)
        if callable(previous):
            previous(number, frame)
