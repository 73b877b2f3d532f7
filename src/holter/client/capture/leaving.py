"""Sees how the program asks to leave: by `os._exit`, which runs nothing of what is registered for the end, by
`sys.exit`, of whose code the interpreter knows nothing any more when it runs that, and by `os.exec*`, after which
another program has its pid."""

import contextlib
import functools
import os
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

from holter.client.capture.patches import Patches

# A program that catches its own `sys.exit` goes on; one that has not ended by then has done so.
LEAVES_WITHIN_S = 10.0
MOST_TEXT = 1000


class LeavingHook:
    """Calls `leave` with the exit code of `os._exit`, then does what was asked; remembers that of `sys.exit`.

    Calls `become` with the program that takes this one's place, and with nothing where that could not be started.
    """

    def __init__(self, leave: Callable[[int], None], become: Callable[[str], None]) -> None:
        self._leave = leave
        self._become = become
        self._patches = Patches()
        self._asked: tuple[float, int, str] | None = None

    @property
    def asked(self) -> tuple[int | None, str]:
        """With which code and text the main thread asked to leave just now by `sys.exit`; None where it did not.

        Somebody may have caught it since, so the exit status is the better witness.
        """
        if self._asked is None or time.monotonic() - self._asked[0] > LEAVES_WITHIN_S:
            return None, ""
        return self._asked[1:]

    def install(self) -> None:
        """Idempotent."""
        if not self._patches.has(os, "_exit"):
            self._watch_exit_at_once()
            self._watch_exit()
            for name in ("execv", "execve"):  # all others call one of these
                self._watch_exec(name)

    def _watch_exit(self) -> None:
        leave: Callable[..., Any] = sys.exit

        @functools.wraps(leave)
        def seen(*args: Any) -> Any:
            if threading.current_thread() is threading.main_thread():  # elsewhere it ends the thread only
                self._asked = (time.monotonic(), *_read(args[0] if args else None))
            return leave(*args)

        self._patches.set(sys, "exit", seen)

    def _watch_exit_at_once(self) -> None:
        leave_at_once: Callable[..., Any] = os._exit

        @functools.wraps(leave_at_once)
        def seen(*args: Any, **kwargs: Any) -> Any:
            status = args[0] if len(args) == 1 and not kwargs else kwargs.get("status")
            if isinstance(status, int) and status.bit_length() < 32:  # else it raises, and the program goes on
                with contextlib.suppress(Exception):  # the boundary: the program wants to be gone
                    self._leave(status & 0xFF)
            return leave_at_once(*args, **kwargs)

        self._patches.set(os, "_exit", seen)

    def _watch_exec(self, name: str) -> None:
        execute: Callable[..., Any] = getattr(os, name)

        @functools.wraps(execute)
        def seen(path: Any, *args: Any, **kwargs: Any) -> Any:
            self._tell(path)
            try:
                return execute(path, *args, **kwargs)
            except BaseException:
                self._tell("")
                raise

        self._patches.set(os, name, seen)

    def _tell(self, path: object) -> None:
        with contextlib.suppress(Exception):  # the boundary: the program wants to be another one
            self._become(os.fsdecode(path)[:MOST_TEXT] if isinstance(path, str | bytes | os.PathLike) else "?")

    def restore(self) -> None:
        """Idempotent."""
        self._patches.restore()


def _read(status: object) -> tuple[int, str]:
    """The exit code that the interpreter makes of it, and the text that it prints."""
    if status is None:
        return 0, ""
    if isinstance(status, int):
        return status & 0xFF, ""
    return 1, status[:MOST_TEXT] if type(status) is str else ""
