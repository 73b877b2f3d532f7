"""Has every signal that may end the program written down as it arrives, by compiled code and whoever handles it."""

import contextlib
import faulthandler
import functools
import importlib
import os
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from typing import Any

from holter.client.capture.native import Native
from holter.client.capture.patches import Patches
from holter.model.witnesses import SIGNALS, witnesses_without

# Those that end a program by default; CONT, because a scheduler that takes a job away sends it before TERM.
_NAMES = "HUP INT QUIT ILL TRAP ABRT BUS FPE USR1 SEGV USR2 TERM CONT XCPU XFSZ SYS".split()
WATCHED = tuple(getattr(signal, f"SIG{name}") for name in _NAMES if hasattr(signal, f"SIG{name}"))
MOST_FORKS = 500
# Here arrive all calls of `signal.signal`, also of those who imported that function before us.
_signal = importlib.import_module("_signal")
_TORCH = "torch.utils.data._utils.signal_handling"


class SignalWitness:
    """Stands before whoever handles a signal, also handlers that Python code sets later, and hands it on.

    Nobody can tell by `signal.getsignal`, by what a handler is given, or by how the program ends. A library that sets
    a handler by itself, below Python, replaces us and is left alone. Threads that Python starts from now on get a stack
    for handlers, so that the overflow of theirs is seen, too; threads of libraries have none.
    """

    def __init__(self) -> None:
        self._native: Native | None = None
        self._logs: dict[str, int] = {}
        self._patches = Patches()
        self._forks = 0
        self._noted_ns = 0

    @property
    def is_there(self) -> bool:
        """Whether somebody looks."""
        return bool(self._logs)

    def follow(self, paths: Sequence[str]) -> None:
        """Write to these files from now on, and to no others; with none, leave everything as it was. Idempotent."""
        if not paths and not self._logs:
            return
        native = self._loaded()
        if native is None:
            return
        for path in self._logs.keys() - set(paths):
            native.close(self._logs.pop(path))
        new = [path for path in paths if path not in self._logs]
        is_first = not self._logs
        for path in new:
            if (log := native.open(os.fsencode(path))) >= 0:
                self._logs[path] = log
        if new:
            native.sign()
        if not self._logs:
            self._remove(native)
        elif is_first:
            self._install(native)

    def know_writer(self, *, is_ours: bool) -> None:
        """Whether Python writes its stacks at a fault because of us: then that must not change how the program ends."""
        if self._native is not None:
            self._native.has_writer(is_ours)

    def look_again(self) -> None:
        """Stand before handlers that Python set behind our back, and before those of a data loader's workers. Cheap."""
        native = self._native
        if native is None or not self._logs:
            return
        for number in WATCHED:
            native.cover(number, 0)
        torch = sys.modules.get(_TORCH)
        if torch is not None:
            self._stand_aside(native, torch, "_set_worker_signal_handlers")

    def newly_terminated_ns(self) -> int:
        """When SIGTERM arrived, told once; 0 for never."""
        if self._native is None or not self._logs:
            return 0
        arrived_ns: int = self._native.arrived_ns(signal.SIGTERM)
        if arrived_ns == self._noted_ns:
            return 0
        self._noted_ns = arrived_ns
        return arrived_ns

    def before_fork(self) -> None:
        """In the parent, so that its children know how many there were."""
        self._forks += 1

    def after_fork(self) -> None:
        """In the child, which has inherited everything."""
        if self._native is not None and self._logs and self._forks <= MOST_FORKS:
            self._native.sign()

    def _loaded(self) -> Native | None:
        if self._native is None and SIGNALS not in witnesses_without():
            with contextlib.suppress(OSError, ImportError):  # built without a compiler, or for another machine
                self._native = Native()
        return self._native

    def _install(self, native: Native) -> None:
        self._noted_ns = native.arrived_ns(signal.SIGTERM)
        native.begin_stack()
        for number in WATCHED:
            native.cover(number, callable(signal.getsignal(number)))
        self._patches.set(_signal, "signal", _covering(_signal.signal, native))
        for name in ("enable", "disable", "register", "unregister"):
            self._stand_aside(native, faulthandler, name)
        self._patches.set(threading.Thread, "_bootstrap", _with_stack(threading.Thread._bootstrap, native))  # type: ignore[attr-defined]  # of CPython, not of its description

    def _remove(self, native: Native) -> None:
        self._patches.restore()
        for number in WATCHED:
            native.uncover(number)

    def _stand_aside(self, native: Native, module: Any, name: str, /) -> None:
        """Give back the signals while others set handlers of their own: they must not take us for the one to call."""
        change = getattr(module, name, None)
        if change is None or self._patches.has(module, name):
            return

        @functools.wraps(change)
        def standing_aside(*args: Any, **kwargs: Any) -> Any:
            ours = [number for number in WATCHED if native.uncover(number)]
            try:
                return change(*args, **kwargs)
            finally:
                for number in ours:
                    native.cover(number, 0)

        self._patches.set(module, name, standing_aside)


def _covering(set_handler: Callable[..., Any], native: Native) -> Callable[..., Any]:
    @functools.wraps(set_handler)
    def covering(number: Any, handler: Any, /) -> Any:
        previous = set_handler(number, handler)
        if number in WATCHED:
            native.cover(int(number), callable(handler))
        return previous

    return covering


def _with_stack(bootstrap: Callable[..., Any], native: Native) -> Callable[..., Any]:
    @functools.wraps(bootstrap)
    def with_stack(self: Any) -> None:
        stack = native.begin_stack()
        try:
            bootstrap(self)
        finally:
            native.end_stack(stack)

    return with_stack
