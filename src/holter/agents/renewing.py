"""Renews the lease of a trial in a thread of its own, while this one is busy with it."""

import contextlib
import threading
from collections.abc import Iterator

from holter.agents.agent import RENEW_S, Holder


@contextlib.contextmanager
def renewing(holder: Holder) -> Iterator[None]:
    """Say every few seconds that somebody is at the trial; behind it no thread is left."""
    is_over = threading.Event()

    def renew() -> None:
        while not is_over.wait(RENEW_S):
            holder.renew()

    thread = threading.Thread(target=renew, name="holter-lease", daemon=True)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()
