"""Sees exceptions that nobody caught: each hook records, then calls the one that was there before."""

import importlib
import sys
import threading
from collections.abc import Callable
from typing import Any

from holter.model.clock import Clock
from holter.model.records import Raised

MOST_TRACEBACK = 32 << 10
Keep = Callable[[Raised], None]


class ExceptionHooks:
    """Installed while a run is active. `restore` puts back what was there, unless somebody hooked in on top."""

    def __init__(self, keep: Keep, clock: Clock) -> None:
        self._keep = keep
        self._clock = clock
        self._previous: dict[tuple[Any, str], tuple[Any, Any]] = {}

    def install(self) -> None:
        """Idempotent."""
        if self._previous:
            return
        # Now and not in the hook: their import evaluates code, and CPython then forgets that it was a KeyboardInterrupt
        # that ended the program, which would leave with code 1 instead of by SIGINT.
        for name in ("linecache", "tokenize", "traceback"):
            importlib.import_module(name)
        self._wrap(sys, "excepthook", self._main)
        self._wrap(threading, "excepthook", self._thread)
        self._wrap(sys, "unraisablehook", self._unraisable)

    def restore(self) -> None:
        """Idempotent."""
        for (module, name), (previous, ours) in self._previous.items():
            if getattr(module, name) is ours:
                setattr(module, name, previous)
        self._previous.clear()

    def _wrap(self, module: Any, name: str, see: Callable[..., Raised | None]) -> None:
        previous = getattr(module, name)

        def hook(*args: Any) -> None:
            try:
                if (raised := see(*args)) is not None:
                    self._keep(raised)
            except Exception:  # noqa: BLE001  the boundary: a hook of ours must not hide the user's traceback
                pass
            previous(*args)

        self._previous[(module, name)] = (previous, hook)
        setattr(module, name, hook)

    def _main(self, kind: type[BaseException], error: BaseException, _: Any) -> Raised:
        return describe(error, self._clock.now_ns())

    def _thread(self, args: threading.ExceptHookArgs) -> Raised | None:
        if args.exc_value is None or isinstance(args.exc_value, SystemExit):
            return None
        thread = args.thread.name if args.thread else "unknown"
        return describe(args.exc_value, self._clock.now_ns(), thread=thread, where="thread")

    def _unraisable(self, args: "sys.UnraisableHookArgs") -> Raised | None:
        if args.exc_value is None:
            return None
        return describe(args.exc_value, self._clock.now_ns(), where="unraisable")


def describe(error: BaseException, at_ns: int, *, thread: str = "MainThread", where: str = "main") -> Raised:
    """An exception as bounded text; keeps no reference to it."""
    import traceback  # two milliseconds that only those pay who record

    text = "".join(traceback.format_exception(error))
    if len(text) > MOST_TRACEBACK:
        half = MOST_TRACEBACK // 2
        text = f"{text[:half]}\n…\n{text[-half:]}"
    kind = type(error)
    name = kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
    return Raised(
        at_ns=at_ns, type=name, message=_message(error), traceback=_clean(text), thread=_clean(thread), where=where
    )


def exit_code_of(error: BaseException | None) -> int:
    """The exit code with which Python would leave because of this exception."""
    if error is None:
        return 0
    if isinstance(error, SystemExit):
        return error.code if isinstance(error.code, int) else 0 if error.code is None else 1
    return 130 if isinstance(error, KeyboardInterrupt) else 1


def _message(error: BaseException) -> str:
    try:
        return _clean(str(error)[:4096])
    except Exception:  # noqa: BLE001  a user's __str__
        return "(its message could not be read)"


def _clean(text: str) -> str:
    return text.encode("utf-8", "replace").decode("utf-8")
