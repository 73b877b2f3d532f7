"""A terminal to run programs in: a pseudo-terminal that controls a session, with somebody who reads and types."""

import contextlib
import fcntl
import os
import signal
import struct
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Sequence

LAST = b"\0the program has ended\0"
"""Shown behind all that the program had printed: a terminal hands on what it got some moments later."""
# Leads the session as a shell would: starts the program, tells its exit code, and stays until its input is closed.
LEADER = f"""
import fcntl, os, signal, sys, termios
LAST = {LAST!r}
os.setsid()
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGTSTP, signal.SIGHUP):
    signal.signal(number, signal.SIG_IGN)
control, report, *command = sys.argv[1:]
default = [signal.SIGINT, signal.SIGQUIT, signal.SIGTSTP, signal.SIGHUP, signal.SIGPIPE, signal.SIGXFSZ]
pid = os.posix_spawnp(command[0], command, os.environ, setsigdef=default)
os.write(int(report), b"%d " % pid)
code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
try:
    os.write(1, LAST)
except OSError:
    pass  # the terminal is gone
os.write(int(report), b"%d" % (code if code >= 0 else 128 - code))
os.close(int(report))
os.read(int(control), 1)
"""


class Terminal:
    """One program on a terminal of its own. What it shows is collected as it comes. A context manager."""

    def __init__(self, command: Sequence[str], *, size: tuple[int, int] = (24, 80), **environ: str) -> None:
        self.master, slave = os.openpty()
        self.resize(*size)
        self.shown = b""
        control, self._control = os.pipe()
        self._report, report = os.pipe()
        self._leader = subprocess.Popen(
            [sys.executable, "-c", LEADER, str(control), str(report), *command],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env={**os.environ, "HOLTER_SILENT": "1", **environ},
            pass_fds=(control, report),
        )
        for fd in (slave, control, report):
            os.close(fd)
        self.pid = int(self._read_report(b" "))
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def __enter__(self) -> "Terminal":
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)
        os.close(self._control)
        os.close(self._report)
        self._leader.wait(60)
        os.close(self.master)

    def type(self, keys: bytes) -> None:
        os.write(self.master, keys)

    def resize(self, rows: int, columns: int) -> None:
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def await_text(self, text: bytes, within_s: float = 60.0) -> None:
        deadline = time.monotonic() + within_s
        while text not in self.shown:
            assert time.monotonic() < deadline, f"no {text!r} in {self.shown!r}"
            time.sleep(0.01)

    def wait(self, settle_s: float = 0.05) -> int:
        """The exit code as a shell would see it; returns when nothing more was shown for so long."""
        code = int(self._read_report(b""))
        while LAST not in self.shown and self._reader.is_alive():
            time.sleep(0.01)
        shown = -1
        while len(self.shown) != shown:
            shown = len(self.shown)
            time.sleep(settle_s)
        self.shown = self.shown.replace(LAST, b"")
        return code

    def _read_report(self, end: bytes) -> bytes:
        text = b""
        while data := os.read(self._report, 1):
            if data == end:
                break
            text += data
        return text

    def _read(self) -> None:
        with contextlib.suppress(OSError):  # nobody has the terminal open any more
            while data := os.read(self.master, 65536):
                self.shown += data
