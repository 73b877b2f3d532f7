"""What the program itself does before its memory is gone: saves, stops, or is interrupted, as its user asked.

A guard says that it is time, in the thread that listens to the sidecar. What follows runs in the main thread:
functions between two steps, in `log()`, or, where nobody logs for some seconds, between two lines of Python that are
no part of a step of an optimizer or of a file being written. With a process group nothing is called or raised on one
rank alone, where the others would wait for it for ever: there `should_stop` becomes true on all.
"""

import ctypes
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

from holter.client.agreement import has_group
from holter.client.run import Run
from holter.errors import MemoryPressure, is_strict
from holter.model.clock import Clock
from holter.model.warning_records import Pressed
from holter.wire.way_back import Warn

# Between two of them the program can do what it likes against it.
REST_S = 60.0
# A loop that logs is at a safe place then.
LOG_WITHIN_S = 4.0
GIVE_UP_S = 120.0
POLL_S = 0.05
_SAVING = frozenset(
    "save save_checkpoint save_model save_pretrained save_weights save_state savez savez_compressed dump to_parquet"
    " to_csv to_pickle to_hdf tofile write_table _save".split()
)
_STEPPING = (
    "/torch/optim/",
    "/torch/autograd/",
    "/torch/serialization.py",
    "/safetensors/",
)
_OURS = f"{os.path.dirname(os.path.dirname(__file__))}/"
_AROUND = tuple(f"{_OURS}{each}" for each in ("agents/", "integrations/", "client/fitting.py", "memory/profiling.py"))
"""These call the whole training: that one of them is among the callers says nothing."""
_CELL = ("run_code", "interactiveshell.py")

Function = Callable[[], Any]


class Pressure:
    """Of this process. Used by the main thread and by the one that hears the sidecar."""

    def __init__(self) -> None:
        self.functions: list[Function] = []
        self._interruptible: set[str] = set()
        self._waiting: Warn | None = None
        self._last_s = -REST_S
        self._run: Run | None = None
        self._lock = threading.Lock()
        self._clock = Clock()
        self._pending = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p)(self._between_lines)

    def allow_interrupt(self, run: str) -> None:
        """Interrupt the main thread before this run's memory is gone."""
        self._interruptible.add(run)

    def pressed(self, warn: Warn, runs: "list[Run]") -> None:
        """Memory is about to be gone. Called by the thread that hears the sidecar, which must go on listening."""
        if time.monotonic() - self._last_s < REST_S:
            return
        run = next((each for each in runs if each.id == warn.run), None)
        if run is None:
            return
        self._last_s = time.monotonic()
        run.wish_stop("memory is about to be gone")
        if has_group():
            if self.functions or warn.run in self._interruptible:
                run.remark(
                    "memory is about to be gone, and with a process group nothing is called on one rank alone:"
                    " run.should_stop is true on all ranks from one of the next steps on"
                )
            return
        if self.functions or warn.run in self._interruptible:
            self._waiting = warn
            threading.Thread(target=self._press, args=(warn, run), name="holter-pressure", daemon=True).start()

    def at_log(self, run: Run) -> None:
        """The program logs: a safe place. Main thread or not; at most once a second."""
        waiting = self._waiting
        if waiting is not None and waiting.run == run.id and threading.current_thread() is threading.main_thread():
            self._call(run)

    def _press(self, warn: Warn, run: Run) -> None:
        try:
            if self.functions:
                self._have_called(run)
            if warn.run in self._interruptible:
                self._interrupt(run)
        finally:
            self._waiting = None

    def _have_called(self, run: Run) -> None:
        """Wait until the functions were called in `log()`; where that does not come, call them between two lines."""
        deadline = time.monotonic() + LOG_WITHIN_S
        while self._waiting is not None and time.monotonic() < deadline:
            time.sleep(POLL_S)
        deadline = time.monotonic() + GIVE_UP_S
        self._run = run
        while self._waiting is not None and time.monotonic() < deadline:
            ctypes.pythonapi.Py_AddPendingCall(self._pending, None)
            time.sleep(POLL_S * 4)

    def _between_lines(self, _: Any) -> int:
        """In the main thread, wherever it is."""
        try:
            if self._waiting is not None and self._run is not None and _is_safe(sys._getframe().f_back):
                self._call(self._run)
        except BaseException:  # noqa: BLE001  nobody is there to catch it
            return 0
        return 0

    def _call(self, run: Run) -> None:
        with self._lock:
            if self._waiting is None:
                return
            self._waiting = None
        for function in self.functions.copy():
            began, error = time.monotonic(), ""
            name = getattr(function, "__name__", type(function).__name__)
            try:
                function()
            except Exception as raised:  # noqa: BLE001  the boundary: the training goes on as long as it can
                error = f"{type(raised).__name__}: {raised}"
            took_s = round(time.monotonic() - began, 3)
            run.keep(Pressed(at_ns=self._clock.now_ns(), done="saved", what=name, took_s=took_s, error=error))
            run.remark(
                f"{name}() was called because memory is about to be gone{f', and failed: {error}' if error else ''}"
            )

    def _interrupt(self, run: Run) -> None:
        """Raise MemoryPressure in the main thread, where it does no other harm."""
        ident = threading.main_thread().ident
        deadline = time.monotonic() + GIVE_UP_S
        while ident is not None and time.monotonic() < deadline:
            if _may_interrupt(sys._current_frames().get(ident)):
                # No other thread runs between this look and the next line but by the interpreter's own wish.
                ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(ident), ctypes.py_object(MemoryPressure))
                run.keep(Pressed(at_ns=self._clock.now_ns(), done="interrupted"))
                return
            time.sleep(POLL_S)


def _frames(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        yield frame
        frame = frame.f_back


def _is_safe(frame: FrameType | None) -> bool:
    """Whether nothing is half done that must not be looked at, or interrupted, there."""
    for each in _frames(frame):
        file = each.f_code.co_filename
        if each.f_code.co_name in _SAVING or any(part in file for part in _STEPPING):
            return False
        if file.startswith(_OURS) and not file.startswith(_AROUND):
            return False
    return True


def _may_interrupt(frame: FrameType | None) -> bool:
    """Only inside of a cell, where this is a notebook: between two cells it would end the kernel."""
    from holter.client.shell import current_shell

    if frame is None or not _is_safe(frame):
        return False
    if current_shell() is None:
        return True
    return any(
        each.f_code.co_name == _CELL[0] and each.f_code.co_filename.endswith(_CELL[1]) for each in _frames(frame)
    )


_pressure: Pressure | None = None


def of_process() -> Pressure:
    """The one of this process."""
    global _pressure
    if _pressure is None:
        _pressure = Pressure()
    return _pressure


def on_pressure(function: Function) -> Function:
    """Call this function in the main thread, at a safe moment, before memory is gone; may stand above it as `@`.

    With a process group nothing is called: ask `run.should_stop` in the loop there. Several are called in turn. What
    one raises is said, and the program goes on.
    """
    if not callable(function):
        from holter.errors import UsageError

        raise UsageError(f"on_pressure() takes a function without arguments, got {type(function).__name__}")
    found = of_process().functions
    if function not in found:
        found.append(function)
    return function


def press(warn: Warn, runs: list[Run]) -> None:
    """Hand on what a guard said. Never raises, outside of tests of ours."""
    try:
        of_process().pressed(warn, runs)
    except Exception:  # the boundary
        if is_strict():
            raise
