"""Has Python write its stacks into the run's directory when a signal such as SIGSEGV ends the program."""

import contextlib
import faulthandler
import io
import os
import signal
import weakref

_FATAL = (signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGABRT)
_STATUS = "/proc/self/status"


class FaultLog:
    """Uses faulthandler where nobody else does; whoever enables it later takes it over.

    It stays on after the run has ended: to switch it off would put back the signal handlers from before `init()`, and
    so take away those which a virtual machine (Java, Julia, WebAssembly) may have installed since, and cannot live
    without. A fault after the end is written to the file of the run that was last.
    """

    def __init__(self) -> None:
        self._fd = -1
        # Held by faulthandler alone: it is gone as soon as somebody gives faulthandler another file.
        self._sink: weakref.ref[io.FileIO] | None = None

    def install(self, path: str) -> None:
        """Write to this file from now on. Idempotent; does nothing where others handle these signals."""
        is_ours = self._sink is not None and self._sink() is not None
        previous = self._fd
        if is_ours or not (faulthandler.is_enabled() or _are_handled()):
            with contextlib.suppress(OSError):  # no file, no stacks
                self._begin(path)
        if previous >= 0 and (self._fd != previous or not is_ours):
            os.close(previous)

    def _begin(self, path: str) -> None:
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        sink = io.FileIO(fd, "a", closefd=False)
        faulthandler.enable(sink, all_threads=True)
        self._fd, self._sink = fd, weakref.ref(sink)


def _are_handled() -> bool:
    """Whether somebody handles one of these signals, perhaps for purposes of their own."""
    try:
        with open(_STATUS, "rb") as file:
            caught = next(int(line.split()[1], 16) for line in file if line.startswith(b"SigCgt:"))
    except (OSError, StopIteration, ValueError):
        return False
    return any(caught >> (number - 1) & 1 for number in _FATAL)
