"""What holter says in the user's terminal: one marked line, once per cause. The run's `debug.log` has it too."""

import contextlib
import os
import sys
import time
from collections.abc import Callable, Sequence

LOG = "debug.log"
MOST_LOG_BYTES = 1 << 20
MOST_WAITING = 100


class Voice:
    """Writes `holter: …` lines to stderr. `quiet` leaves warnings, `silent` leaves nothing.

    Args:
        show: takes what is only nice to know, where stderr looks like an error; false where it can't just now.
    """

    def __init__(
        self, *, silent: bool = False, quiet: bool = False, show: Callable[[str], bool] = lambda line: False
    ) -> None:
        self._silent = silent
        self._quiet = quiet
        self._show = show
        self._said: set[str] = set()
        self._log = ""
        self._waiting: list[str] = []

    def keep_in(self, directory: str) -> None:
        """Write what was said so far, and from now on, into the `debug.log` of a run's directory as well."""
        self._log = os.path.join(directory, LOG)
        waiting, self._waiting = self._waiting, []
        self._write_down("".join(waiting))

    def tell(self, text: str) -> None:
        """Something nice to know."""
        self._note("INFO", text)
        if not self._quiet and not self._silent and not self._show(f"holter: {text}"):
            self._write(text)

    def mention(self, cause: str, text: str) -> None:
        """The same, once for each cause."""
        if cause not in self._said:
            self._said.add(cause)
            self.tell(text)

    def warn(self, cause: str, text: str) -> bool:
        """Something the user must know, once for each cause. True the first time."""
        if cause in self._said:
            return False
        self._said.add(cause)
        self._note("WARN", text)
        self._write(text)
        return True

    def caution(self, cause: str, lines: Sequence[str]) -> None:
        """A guard's warning, once for each cause: below a notebook's cell and above a progress bar, and as no error."""
        if cause in self._said:
            return
        self._said.add(cause)
        for line in lines:
            self._note("WARN", line)
            if not self._silent and not self._show(f"holter: {line}") and not self._write_above_bar(line):
                self._write(line)

    def forget(self, cause: str) -> bool:
        """The cause is gone: if it comes back it is said again. True if it had been said."""
        if cause not in self._said:
            return False
        self._said.remove(cause)
        return True

    def _note(self, level: str, text: str) -> None:
        line = f"{time.strftime('%Y-%m-%dT%H:%M:%S%z')} [{os.getpid()}] {level} {text}\n"
        if self._log:
            self._write_down(line)
        elif len(self._waiting) < MOST_WAITING:
            self._waiting.append(line)

    def _write_down(self, lines: str) -> None:
        if not lines:
            return
        with contextlib.suppress(OSError):  # a full disk is said elsewhere
            fd = os.open(self._log, os.O_CREAT | os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC, 0o600)
            try:
                if os.fstat(fd).st_size < MOST_LOG_BYTES:
                    os.write(fd, lines.encode(errors="replace"))
            finally:
                os.close(fd)

    def _write_above_bar(self, text: str) -> bool:
        """Where tqdm draws a bar; false where there is none."""
        bars = getattr(getattr(sys.modules.get("tqdm"), "tqdm", None), "_instances", None)
        if not bars or sys.stderr is None:
            return False
        with contextlib.suppress(Exception):  # the boundary: another release may have other insides
            sys.modules["tqdm"].tqdm.write(f"holter: {text}", file=sys.stderr)
            return True
        return False

    def _write(self, text: str) -> None:
        if self._silent or sys.stderr is None:
            return
        try:
            sys.stderr.write(f"holter: {text}\n")
            sys.stderr.flush()
        except (OSError, ValueError):
            pass  # a closed or broken stderr is the program's business, not a reason to end it
