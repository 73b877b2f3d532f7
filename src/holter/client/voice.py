"""What holter says in the user's terminal: one marked line, once per cause."""

import sys


class Voice:
    """Writes `holter: …` lines to stderr. `quiet` leaves warnings, `silent` leaves nothing."""

    def __init__(self, *, silent: bool = False, quiet: bool = False) -> None:
        self._silent = silent
        self._quiet = quiet
        self._said: set[str] = set()

    def tell(self, text: str) -> None:
        """Something nice to know."""
        if not self._quiet:
            self._write(text)

    def warn(self, cause: str, text: str) -> bool:
        """Something the user must know, once for each cause. True the first time."""
        if cause in self._said:
            return False
        self._said.add(cause)
        self._write(text)
        return True

    def forget(self, cause: str) -> bool:
        """The cause is gone: if it comes back it is said again. True if it had been said."""
        if cause not in self._said:
            return False
        self._said.remove(cause)
        return True

    def _write(self, text: str) -> None:
        if self._silent or sys.stderr is None:
            return
        try:
            sys.stderr.write(f"holter: {text}\n")
            sys.stderr.flush()
        except (OSError, ValueError):
            pass  # a closed or broken stderr is the program's business, not a reason to end it
