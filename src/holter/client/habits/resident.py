"""A program that keeps a whole dataset on its GPU.

Looked for once, half a minute after the first row, in the variables that the code which logs can see, and one level
into lists, dicts and objects. Runs no code of the user's.
"""

import sys
from collections.abc import Iterator, Mapping
from itertools import islice
from types import FrameType
from typing import Any

from holter.client.habits.lines import is_own
from holter.model.clock import Clock
from holter.model.warning_records import Noticed

AFTER_S = 30.0
LEAST_SHARE = 0.25
LEAST_ITEMS = 1000
"""What has fewer in its first dimension is a batch or a weight, and no dataset."""
MOST_LOOKED_AT = 5000


class Resident:
    """Of one program."""

    def __init__(self) -> None:
        self._first_s: float | None = None
        self._has_looked = False

    def look(self, now_s: float, rows: int) -> Iterator[Noticed]:
        """The largest, if it is large."""
        if self._has_looked or not rows:
            return
        self._first_s = now_s if self._first_s is None else self._first_s
        if now_s - self._first_s < AFTER_S:
            return
        self._has_looked = True
        if not _uses_gpu():
            return
        found = [(_share(value), name, value) for name, value in islice(_seen(sys._getframe()), MOST_LOOKED_AT)]
        share, name, value = max(found, key=lambda each: each[0], default=(0.0, "", None))
        if share >= LEAST_SHARE:
            what = f"{name} ({_bytes(value) / 2**30:.1f} GiB)"
            yield Noticed(at_ns=Clock().now_ns(), habit="array-on-gpu", what=what, share=share)

    def close(self) -> None:
        """There is nothing to put back."""


def _uses_gpu() -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and bool(torch.cuda.is_initialized())


def _seen(frame: FrameType | None) -> Iterator[tuple[str, Any]]:
    """The variables of those who call, and what these hold, by name."""
    while frame is not None:
        if is_own(frame):
            for names in (frame.f_locals, frame.f_globals):
                for name, value in list(names.items()):
                    yield name, value
                    yield from _inside(name, value)
        frame = frame.f_back


def _inside(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    if type(value) in (list, tuple):
        yield from ((f"{name}[{at}]", each) for at, each in enumerate(value[:20]))
    elif type(value) is dict:
        yield from ((f"{name}[{key!r:.40}]", each) for key, each in islice(list(value.items()), 20))
    elif isinstance(held := getattr(value, "__dict__", None), Mapping) and not isinstance(value, type(sys)):
        for key, each in islice(list(held.items()), 50):
            yield f"{name}.{key}", each
            if type(each) in (list, tuple):
                yield from ((f"{name}.{key}[{at}]", part) for at, part in enumerate(each[:20]))


def _share(value: Any) -> float:
    """Of its GPU's memory, 0 for what is no dataset."""
    torch = sys.modules["torch"]
    if not issubclass(type(value), torch.Tensor) or not value.is_cuda or value.requires_grad:
        return 0.0
    if not value.ndim or value.shape[0] < LEAST_ITEMS:
        return 0.0
    return float(_bytes(value) / torch.cuda.get_device_properties(value.device).total_memory)


def _bytes(value: Any) -> int:
    return int(value.numel() * value.element_size())
