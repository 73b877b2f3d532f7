"""Says which variable grows, once a guard has warned that memory runs out or leaks."""

import threading
import time
from collections.abc import Callable, Sequence

from holter.client.run import Run
from holter.errors import is_strict
from holter.model.clock import Clock
from holter.model.warning_records import Warned
from holter.wire.way_back import Warn

GUARDS = ("memory-forecast", "leak")
NOT_OF_HOST = ("gpu/", "shm")
REST_S = 120.0
_looked_s = -REST_S


def warned(warn: Warn, run: Run | None, *, say: Callable[[str, Sequence[str]], None]) -> None:
    """A guard said this of a run of ours. Called by the thread that hears the sidecar, which must go on listening.

    Args:
        say: shows lines to the user, once for each cause.
    """
    global _looked_s
    if run is None or warn.guard not in GUARDS or warn.subject.startswith(NOT_OF_HOST):
        return
    if time.monotonic() - _looked_s < REST_S:
        return
    _looked_s = time.monotonic()
    threading.Thread(target=_look, args=(warn, run, say), name="holter-growth", daemon=True).start()


def _look(warn: Warn, run: Run, say: Callable[[str, Sequence[str]], None]) -> None:
    try:
        from holter.memory import growing  # only those whose memory runs out pay for it

        found = growing.what_grows(between_s=growing.BETWEEN_S)
        if found is None:
            return
        text, advice = str(found), found.held.smaller[:1]
        run.keep(
            Warned(
                at_ns=Clock().now_ns(),
                guard=warn.guard,
                subject=warn.subject,
                text=text,
                advice=advice,
                figures={"holder": found.held.name},
            )
        )
        say(f"growth:{text}", (text, *(f"try: {each}" for each in advice)))
    except Exception:  # the boundary
        if is_strict():
            raise
