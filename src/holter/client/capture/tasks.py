"""Sees exceptions in asyncio that nobody awaited: records, then lets the event loop report them as ever."""

import contextlib
import sys
import threading
from collections.abc import Callable
from typing import Any

from holter.client.capture.description import Describer
from holter.client.capture.patches import Patches


class TaskHook:
    """Wraps the method with which every event loop of the standard library reports what nobody caught.

    asyncio is never imported for it: `install` is called again now and then, and does something once it is there.
    """

    def __init__(self, describer: Describer) -> None:
        self._describer = describer
        self._patches = Patches()

    def install(self) -> None:
        """Idempotent."""
        loop = getattr(sys.modules.get("asyncio.base_events"), "BaseEventLoop", None)
        if loop is not None and not self._patches.has(loop, "call_exception_handler"):
            self._patches.set(loop, "call_exception_handler", self._wrapped(loop.call_exception_handler))

    def restore(self) -> None:
        """Idempotent."""
        self._patches.restore()

    def _wrapped(self, previous: Callable[..., None]) -> Callable[..., None]:
        def call_exception_handler(*args: Any, **kwargs: Any) -> None:
            with contextlib.suppress(Exception):  # the boundary: the loop's own report must come
                self._see(*args, **kwargs)
            previous(*args, **kwargs)

        return call_exception_handler

    def _see(self, _: object, context: dict[str, Any]) -> None:
        error = context.get("exception")
        if isinstance(error, BaseException):
            self._describer.seen(error, where="asyncio", thread=threading.current_thread().name)
