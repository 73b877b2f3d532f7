"""Counts what forked processes share with their parents once.

Linux counts a page that a forked worker still shares as the worker's too, and a copy of it no more than that. To tell
them apart it goes through all of a process's memory, so it is asked once a minute, and no more where that takes long.
In between, a worker has what it had for itself plus what it took since; a new one began with nothing of its own.
"""

import time
from collections.abc import Mapping
from typing import Protocol

import msgspec

from holter.probes.procfs import PROC, Stat, find_number, read_file

EVERY_S = 60.0
SLOW_S = 0.25
MOST_READ = 64


class Held(Protocol):
    """A process, as it was read."""

    @property
    def stat(self) -> Stat:
        """Who it is."""

    @property
    def anon_bytes(self) -> int:
        """What Linux counts of it."""


class _Known(msgspec.Struct):
    started: int
    private: float
    anon: int
    """What Linux counted when `private` was read."""


class SharedPages:
    """Of one tree of processes. One thread."""

    def __init__(self, proc: str = PROC) -> None:
        self._proc = proc
        self._known: dict[int, _Known] = {}
        self._read_s = -EVERY_S
        self._is_slow = False

    def own(self, readings: Mapping[int, Held], now_s: float) -> dict[int, float]:
        """What each forked process has for itself, in bytes; of the others Linux's own figure holds."""
        forked = {pid: each for pid, each in readings.items() if _is_forked(each, readings)}
        self._known = {
            pid: known
            for pid, known in self._known.items()
            if pid in forked and forked[pid].stat.started == known.started
        }
        for pid, each in forked.items():
            self._known.setdefault(pid, _Known(each.stat.started, 0.0, each.anon_bytes))
        if forked and not self._is_slow and now_s - self._read_s >= EVERY_S:
            self._read_s = now_s
            self._read(forked)
        return {
            pid: min(each.anon_bytes, self._known[pid].private + max(0, each.anon_bytes - self._known[pid].anon))
            for pid, each in forked.items()
        }

    def _read(self, forked: Mapping[int, Held]) -> None:
        began_s = time.thread_time()
        for pid in sorted(forked)[:MOST_READ]:
            if (private := read_private(pid, self._proc)) is not None:
                self._known[pid] = _Known(forked[pid].stat.started, private, forked[pid].anon_bytes)
        self._is_slow = time.thread_time() - began_s > SLOW_S


def _is_forked(held: Held, readings: Mapping[int, Held]) -> bool:
    """Whether it runs its parent's program: another program begins with a stack at another place."""
    parent = readings.get(held.stat.parent)
    return parent is not None and held.stat.stack_start == parent.stat.stack_start != 0


def read_private(pid: int, proc: str = PROC) -> float | None:
    """What only this process has, in bytes; None where nobody can look."""
    text = read_file(f"{proc}/{pid}/smaps_rollup")
    found = find_number(text, b"Private_Dirty:") if text else None
    return None if found is None else 1024.0 * found
