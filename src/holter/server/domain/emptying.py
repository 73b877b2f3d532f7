"""Empties the trash when the time to have a run back is over; also what a server left there that ended before that."""

import contextlib
import threading

from holter.catalog.change.trash import KEPT_S, Trash

_lock = threading.Lock()
_waiting: set[str] = set()


def empty_later(data: str) -> None:
    """Have it done by one thread, however many runs are deleted. Idempotent."""
    with _lock:
        if data in _waiting:
            return
        _waiting.add(data)
    later = threading.Timer(KEPT_S + 1, _empty, (data,))
    later.daemon = True
    later.start()


def _empty(data: str) -> None:
    with _lock:
        _waiting.discard(data)
    trash = Trash(data)
    with contextlib.suppress(OSError):
        trash.empty()
    if trash.keeps_some:
        empty_later(data)
