"""Sees exceptions that nobody caught: each hook records, then calls the one that was there before."""

import contextlib
import importlib
import sys
import threading
from collections.abc import Callable
from typing import Any

from holter.client.capture.description import Describer
from holter.client.capture.patches import Patches


class ExceptionHooks:
    """Installed while a run is active. `restore` puts back what was there, unless somebody hooked in on top."""

    def __init__(self, describer: Describer) -> None:
        self._describer = describer
        self._patches = Patches()

    def install(self) -> None:
        """Idempotent."""
        if self._patches.has(sys, "excepthook"):
            return
        # Now and not in the hook: their import evaluates code, and CPython then forgets that it was a KeyboardInterrupt
        # that ended the program, which would leave with code 1 instead of by SIGINT.
        for name in ("linecache", "tokenize", "traceback", "holter.client.capture.frames"):
            importlib.import_module(name)
        self._wrap(sys, "excepthook", self._main)
        self._wrap(threading, "excepthook", self._thread)
        self._wrap(sys, "unraisablehook", self._unraisable)

    def restore(self) -> None:
        """Idempotent."""
        self._patches.restore()

    def _wrap(self, module: Any, name: str, see: Callable[..., None]) -> None:
        previous = getattr(module, name)

        def hook(*args: Any) -> None:
            with contextlib.suppress(Exception):  # the boundary: a hook of ours must not hide the user's traceback
                see(*args)
            previous(*args)

        self._patches.set(module, name, hook)

    def _main(self, kind: type[BaseException], error: BaseException, _: Any) -> None:
        self._describer.ends_program(error)

    def _thread(self, args: threading.ExceptHookArgs) -> None:
        if args.exc_value is not None and not isinstance(args.exc_value, SystemExit):
            thread = args.thread.name if args.thread else "unknown"
            self._describer.seen(args.exc_value, where="thread", thread=thread)

    def _unraisable(self, args: "sys.UnraisableHookArgs") -> None:
        if args.exc_value is not None:
            self._describer.seen(args.exc_value, where="unraisable")
