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
        self._has_seen_main = False

    def install(self) -> None:
        """Idempotent."""
        if self._patches.has(sys, "excepthook"):
            return
        # Now and not in the hook: their import evaluates code, and CPython then forgets that it was a KeyboardInterrupt
        # that ended the program, which would leave with code 1 instead of by SIGINT. And there may be no file
        # descriptor left to import anything with.
        for name in (
            "linecache",
            "tokenize",
            "traceback",
            "holter.memory.frames",
            "holter.client.capture.surroundings",
        ):
            importlib.import_module(name)
        self._wrap(sys, "excepthook", self._main)
        self._wrap(threading, "excepthook", self._thread)
        self._wrap(sys, "unraisablehook", self._unraisable)

    def look_back(self) -> None:
        """As the interpreter exits: see what ended the program if our hook was not called, or was interrupted.

        Somebody's own hook may not call ours; a signal handler may raise at the very moment in which ours is called.
        """
        error = getattr(sys, "last_value", None)
        # There it is the last of many that somebody saw on the screen, and went on.
        is_interactive = hasattr(sys, "ps1") or "IPython" in sys.modules
        if isinstance(error, BaseException) and not (self._has_seen_main or is_interactive):
            with contextlib.suppress(Exception):  # the boundary: nobody asked for this
                self._describer.ends_program(error)

    def restore(self) -> None:
        """Idempotent."""
        self._patches.restore()

    def _wrap(self, module: Any, name: str, see: Callable[..., None]) -> None:
        previous = getattr(module, name)

        def hook(*args: Any) -> None:
            try:
                see(*args)
            except Exception:  # noqa: BLE001  the boundary: a hook of ours must not hide the user's traceback
                # Perhaps it was none of ours: a data loader raises from its handler of SIGCHLD, wherever we are.
                with contextlib.suppress(Exception):
                    see(*args)
            previous(*args)

        self._patches.set(module, name, hook)

    def _main(self, kind: type[BaseException], error: BaseException, _: Any) -> None:
        if error is not getattr(sys, "last_value", None):  # which the interpreter sets before it calls its hook
            self._describer.seen(error, where="shown")
            return
        self._describer.ends_program(error)
        self._has_seen_main = True

    def _thread(self, args: threading.ExceptHookArgs) -> None:
        if args.exc_value is not None and not isinstance(args.exc_value, SystemExit):
            thread = args.thread.name if args.thread else "unknown"
            self._describer.seen(args.exc_value, where="thread", thread=thread)

    def _unraisable(self, args: "sys.UnraisableHookArgs") -> None:
        if args.exc_value is not None:
            self._describer.seen(args.exc_value, where="unraisable")
