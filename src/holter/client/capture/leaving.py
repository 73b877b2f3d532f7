"""Sees `os._exit`, which leaves at once and runs nothing of what is registered for the end."""

import contextlib
import functools
import os
from collections.abc import Callable
from typing import Any

from holter.client.capture.patches import Patches


class LeavingHook:
    """Calls `leave` with the exit code, then does what was asked."""

    def __init__(self, leave: Callable[[int], None]) -> None:
        self._leave = leave
        self._patches = Patches()

    def install(self) -> None:
        """Idempotent."""
        if self._patches.has(os, "_exit"):
            return
        leave_at_once: Callable[..., Any] = os._exit

        @functools.wraps(leave_at_once)
        def seen(*args: Any, **kwargs: Any) -> Any:
            status = args[0] if len(args) == 1 and not kwargs else kwargs.get("status")
            if isinstance(status, int) and status.bit_length() < 32:  # else it raises, and the program goes on
                with contextlib.suppress(Exception):  # the boundary: the program wants to be gone
                    self._leave(status & 0xFF)
            return leave_at_once(*args, **kwargs)

        self._patches.set(os, "_exit", seen)

    def restore(self) -> None:
        """Idempotent."""
        self._patches.restore()
