"""Bounds work that might wait for a disk that never answers."""

import threading
from collections.abc import Callable

from holter.recording.threads import start_quietly


def in_time(work: Callable[[], object], seconds: float) -> bool:
    """Do the work; return after `seconds` even if it is not done. True if it is.

    The work goes on in a daemon thread, which does not keep the interpreter alive. What it raises is raised here.
    """
    failures: list[BaseException] = []

    def keep_failure() -> None:
        try:
            work()
        except BaseException as error:  # noqa: BLE001  handed to the caller
            failures.append(error)

    thread = threading.Thread(target=keep_failure, name="holter-finish", daemon=True)
    try:
        start_quietly(thread)
    except RuntimeError:  # no more threads, or the interpreter is ending: then without a bound
        work()
        return True
    thread.join(seconds)
    if failures:
        raise failures[0]
    return not thread.is_alive()
