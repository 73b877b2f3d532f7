"""Writes down what a Jupyter server sees, in a thread of its own: the server never waits for a disk."""

import atexit
import queue
import threading
from collections.abc import Callable
from functools import cache
from logging import Logger, LoggerAdapter, getLogger
from typing import Any

from holter.errors import is_strict

MOST_WAITING = 10_000
LAST_WORDS_WITHIN_S = 1.0

Log = Logger | LoggerAdapter[Any]
"""Where a server writes about itself."""


class Scribe:
    """Does one piece of work after the other. Nothing of it raises or blocks, except `drain`.

    A disk that hangs costs the records, never a kernel: what comes while too much is waiting is dropped.
    """

    def __init__(self) -> None:
        self._waiting: queue.Queue[tuple[Callable[[], object], Log]] = queue.Queue(MOST_WAITING)
        self._thread: threading.Thread | None = None

    def do(self, work: Callable[[], object], log: Log) -> None:
        """Have it done soon; a failure becomes one line in the server's log."""
        try:
            self._waiting.put_nowait((work, log))
        except queue.Full:
            return
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name="holter-scribe", daemon=True)
            self._thread.start()

    def drain(self, within_s: float) -> bool:
        """Wait until all that was asked for before is done; false where it takes longer."""
        if self._thread is None:
            return True
        done = threading.Event()
        try:
            self._waiting.put_nowait((done.set, _SILENT))
        except queue.Full:
            return False
        return done.wait(within_s)

    def _work(self) -> None:
        while True:
            work, log = self._waiting.get()
            try:
                work()
            except Exception as error:  # the boundary: a kernel that can't be recorded runs
                log.warning("holter: a notebook's kernel is not fully recorded: %s: %s", type(error).__name__, error)
                if is_strict():
                    log.exception("holter: where it happened")


_SILENT = getLogger("holter.silent")


@cache
def the_scribe() -> Scribe:
    """The one of this server; what it has still to write when the server leaves is waited for, but not for long."""
    scribe = Scribe()
    atexit.register(scribe.drain, LAST_WORDS_WITHIN_S)
    return scribe
