"""What native code allocated and still holds, by the lines of the program that led to it; memray sees that."""

import importlib
import os
import tempfile
from collections.abc import Iterator
from typing import Any

import msgspec

from holter.errors import UsageError

INSTALL = "pip install memray"


class Held(msgspec.Struct, frozen=True):
    """What one place holds; `calls` are files and lines, the innermost first."""

    held_bytes: int
    objects: int
    calls: tuple[tuple[str, int], ...]


class NativeTracing:
    """Between `begin` and `end`. One at a time in a process. Raises UsageError where memray is missing or at work."""

    def __init__(self, depth: int) -> None:
        try:
            self._memray: Any = importlib.import_module("memray")
        except ImportError:
            raise UsageError(f"trace_memory(native=True) needs memray: {INSTALL}") from None
        self._depth = depth
        self._folder: Any = None
        self._tracker: Any = None

    def begin(self) -> None:
        """From now on every allocation is written into a temporary file."""
        self._folder = tempfile.TemporaryDirectory(prefix="holter-memray-")
        tracker = self._memray.Tracker(os.path.join(self._folder.name, "allocations"))
        try:
            tracker.__enter__()
        except RuntimeError as error:
            self._folder.cleanup()
            raise UsageError(f"trace_memory(): allocations are traced already ({error}); end that first") from None
        self._tracker = tracker

    def end(self) -> list[Held]:
        """What is still held of what was allocated meanwhile."""
        self._tracker.__exit__(None, None, None)
        with self._folder:
            return list(self._held(os.path.join(self._folder.name, "allocations")))

    def _held(self, path: str) -> Iterator[Held]:
        with self._memray.FileReader(path) as reader:
            for record in reader.get_leaked_allocation_records(merge_threads=True):
                calls = tuple((file, line) for _, file, line in record.stack_trace(max_stacks=self._depth))
                yield Held(record.size, record.n_allocations, calls)
