"""Has Python write its stacks into the run's directory when a signal such as SIGSEGV ends the program."""

import contextlib
import faulthandler
import io
import os
import signal
import weakref
from typing import Any, cast

_FATAL = (signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGABRT)
_STATUS = "/proc/self/status"


class FaultLog:
    """Uses faulthandler where nobody else does; whoever enables it later takes it over.

    It goes with the last run, unless somebody has set a handler of their own since: to switch it off puts back those
    from before `init()`, and a virtual machine (Java, Julia, WebAssembly) cannot live without its own. Then it stays,
    and a fault after the end is written to the file of the run that was last.
    """

    def __init__(self) -> None:
        self._fd = -1
        # Held by faulthandler alone: it is gone as soon as somebody gives faulthandler another file.
        self._sink: weakref.ref[io.FileIO] | None = None

    @property
    def is_ours(self) -> bool:
        """Whether faulthandler writes where we told it to, and nobody has taken it over."""
        return self._sink is not None and self._sink() is not None

    def install(self, path: str) -> None:
        """Write to this file from now on. Idempotent; does nothing where others handle these signals."""
        is_ours = self.is_ours
        previous = self._fd
        if is_ours or not (faulthandler.is_enabled() or _are_handled()):
            with contextlib.suppress(OSError):  # no file, no stacks
                self._begin(path)
        if previous >= 0 and (self._fd != previous or not is_ours):
            os.close(previous)

    def restore(self) -> None:
        """Leave the signals as they were. Idempotent."""
        if self._sink is None or self._sink() is None or not _are_faulthandlers():
            return
        faulthandler.disable()
        os.close(self._fd)
        self._fd, self._sink = -1, None

    def _begin(self, path: str) -> None:
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        sink = io.FileIO(fd, "a", closefd=False)
        faulthandler.enable(sink, all_threads=True)
        self._fd, self._sink = fd, weakref.ref(sink)


def _are_faulthandlers() -> bool:
    """Whether one function of the interpreter's handles all of these signals, and none that Python code set."""
    if any(callable(signal.getsignal(number)) for number in _FATAL):
        return False
    try:
        import ctypes  # only a program that goes on without its run pays for it

        handlers = {_handler(ctypes, number) for number in _FATAL}
        own = ctypes.cast(ctypes.pythonapi.Py_IsInitialized, ctypes.c_void_p).value
        return len(handlers) == 1 and _library(ctypes, handlers.pop()) == _library(ctypes, own)
    except (ImportError, AttributeError, OSError):  # a system that does not let us look
        return False


def _handler(ctypes: Any, number: int) -> int | None:
    # The handler is the first field of the structure, on every system that has pidfds or a Mach kernel.
    action = (ctypes.c_void_p * 64)()
    if ctypes.CDLL(None).sigaction(int(number), None, action):
        raise OSError
    return cast("int | None", action[0])


def _library(ctypes: Any, address: int | None) -> int | None:
    """Where the library or program begins that holds an address."""
    found = (ctypes.c_void_p * 4)()  # its name, its beginning, and the nearest symbol's name and address
    if not ctypes.CDLL(None).dladdr(ctypes.c_void_p(address), found):
        raise OSError
    return cast("int | None", found[1])


def _are_handled() -> bool:
    """Whether somebody handles one of these signals, perhaps for purposes of their own."""
    try:
        with open(_STATUS, "rb") as file:
            caught = next(int(line.split()[1], 16) for line in file if line.startswith(b"SigCgt:"))
    except (OSError, StopIteration, ValueError):
        return False
    return any(caught >> (number - 1) & 1 for number in _FATAL)
