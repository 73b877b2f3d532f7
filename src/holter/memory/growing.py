"""Which variable of a running program grows: found by two looks at it, some seconds apart."""

import collections
import sys
import threading
import time
from collections.abc import Callable
from types import FrameType

import msgspec

from holter.memory.frames import frame_locals, is_own
from holter.memory.held import Held
from holter.memory.holders import running_shell
from holter.memory.readings import rss_bytes
from holter.memory.tables import show_bytes
from holter.memory.variables import variables

BETWEEN_S = 8.0
LEAST_BYTES = 256 << 10
LEAST_SHARE = 0.3
"""Of what the process grew by meanwhile: less explains nothing."""
SAMPLE_SHARE = 0.1
"""Two samples of the same container differ by so much."""
_COUNTED = (list, dict, set, collections.deque, bytearray)


class Growing(msgspec.Struct, frozen=True, kw_only=True):
    """The one that grew most between two looks."""

    held: Held
    where: str
    """`train()`; empty for a global."""
    grown_bytes: float
    after_s: float

    def __str__(self) -> str:
        held = self.held
        said = "; ".join(filter(None, (held.what, held.why)))
        place = f" in {self.where}" if self.where else ""
        about = f" ({said})" if said else ""
        grown = f"{show_bytes(round(self.grown_bytes))} in {self.after_s:.0f} s"
        return f"largest growth: {held.type} '{held.name}'{place}{about}, {grown}"


class _Look(msgspec.Struct, frozen=True):
    at_s: float
    rss_bytes: int
    held: dict[str, Held]
    """What there was time to measure."""
    ids: dict[str, int]
    """Of all that there was."""
    lengths: dict[str, int]
    places: dict[str, str]


def what_grows(*, between_s: float, wait: Callable[[float], object] = time.sleep) -> Growing | None:
    """The variable of the main thread that grew most while we waited; None where none explains the growth.

    For a thread that looks on. Each look takes the processor for 20 ms at most, and runs no code of the user's.
    """
    before = _look()
    wait(between_s)
    after = _look()
    grown = {name: _grown(name, before, after) for name in after.held}
    name = max(grown, key=lambda each: grown[each], default="")
    least = max(LEAST_BYTES, LEAST_SHARE * (after.rss_bytes - before.rss_bytes))
    if not name or grown[name] < least:
        return None
    return Growing(
        held=after.held[name],
        where=after.places.get(name, ""),
        grown_bytes=grown[name],
        after_s=after.at_s - before.at_s,
    )


def _look() -> _Look:
    namespace: dict[str, object] = {}
    places: dict[str, str] = {}
    shell = running_shell()
    if shell is not None:
        namespace.update(shell.user_ns)
    for frame in reversed(_own_frames()):
        is_module = frame.f_code.co_name == "<module>"
        for name, value in frame_locals(frame):
            namespace[name] = value
            if name not in frame.f_code.co_freevars:  # those belong to a function further out
                places[name] = "" if is_module else f"{frame.f_code.co_name}()"
    found = variables(namespace, shell=shell)
    lengths = {
        name: len(value)  # type: ignore[arg-type]  # one of those that are counted, whose `len` is no user's code
        for name, value in namespace.items()
        if type(value) in _COUNTED
    }
    held = {each.name: each for each in found}
    ids = {name: id(value) for name, value in namespace.items()}
    return _Look(time.monotonic(), rss_bytes(), held, ids, lengths, places)


def _own_frames() -> list[FrameType]:
    """Of the main thread, the innermost first."""
    frame = sys._current_frames().get(threading.main_thread().ident or 0)
    found = []
    while frame is not None:
        if is_own(frame.f_code.co_filename):
            found.append(frame)
        frame = frame.f_back
    return found


def _grown(name: str, before: _Look, after: _Look) -> float:
    """Of a large container only a sample was measured: its length says more about its growth than two samples do."""
    size, earlier = after.held[name].size_bytes, before.held.get(name)
    count, count_before = after.lengths.get(name, 0), before.lengths.get(name, 0)
    if count > count_before:
        return size * (count - count_before) / count
    if earlier is None and before.ids.get(name) == after.ids[name]:
        return 0.0  # it was there, and nobody knows how large
    grown = size - (earlier.size_bytes if earlier is not None else 0)
    is_noise = after.held[name].is_estimate and grown < SAMPLE_SHARE * size
    return 0.0 if is_noise else float(grown)
