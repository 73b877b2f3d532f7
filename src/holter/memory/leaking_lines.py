"""`holter.trace_memory()`: which lines allocated what is still held, between two moments of a running program."""

import contextlib
import gc
import linecache
import os
from types import TracebackType
from typing import Any

import msgspec

from holter.errors import UsageError
from holter.memory.frames import is_own
from holter.memory.keeping import keep_with_runs, say
from holter.memory.native_lines import Held, NativeTracing
from holter.memory.tables import MOST_ROWS, html_table, show_bytes, text_table

DEPTH = 12
MOST_DEPTH = 100
LEAST_BYTES = 1024
MOST_CODE = 100
_HEAD = ("held", "objects", "line", "code")


class Line(msgspec.Struct, frozen=True, kw_only=True):
    """One line of the program, with what it allocated meanwhile and was not let go of."""

    file: str
    line: int
    held_bytes: int
    objects: int

    @property
    def code(self) -> str:
        """Its text, as far as it can be found."""
        return linecache.getline(self.file, self.line).strip()[:MOST_CODE]


class Allocations:
    """What was found, the largest first; shows itself as a table once the traced part is over."""

    def __init__(self) -> None:
        self.lines: tuple[Line, ...] = ()

    def __iter__(self) -> Any:
        return iter(self.lines)

    def __len__(self) -> int:
        return len(self.lines)

    def _rows(self) -> list[tuple[str, ...]]:
        return [
            (show_bytes(each.held_bytes), f"{each.objects:,}", f"{os.path.basename(each.file)}:{each.line}", each.code)
            for each in self.lines[:MOST_ROWS]
        ]

    def __repr__(self) -> str:
        if not self.lines:
            return "nothing that was allocated meanwhile is still held"
        return text_table(_HEAD, self._rows(), right=(0, 1))

    def _repr_html_(self) -> str:
        return html_table(_HEAD, self._rows(), code=(3,)) if self.lines else repr(self)


class trace_memory:  # noqa: N801  used as a function, in `with`
    """Follow what Python allocates in a `with` block, and show which lines of yours still hold some of it afterwards.

    The table is printed to stderr (below the cell in a notebook); the run keeps it as `files/memory/allocations.txt`.
    Python is several times as slow meanwhile: take some hundred steps, after the first ones. What native code takes for
    itself, such as tensors of torch, is seen with `native=True`; arrays of numpy always are.

    Args:
        show: False prints nothing.
        depth: so many calls are looked through for a line of yours.
        native: also what native code allocates in the host's memory, by memray, which must be installed.

    Raises UsageError for what is no depth, where memray is missing, and where allocations are traced already.
    """

    def __init__(self, *, show: bool = True, depth: int = DEPTH, native: bool = False) -> None:
        if type(depth) is not int or not 1 <= depth <= MOST_DEPTH:
            raise UsageError(f"trace_memory(): depth is a whole number from 1 to {MOST_DEPTH}, got {depth!r}")
        self._show = show
        self._depth = depth
        self._native = NativeTracing(depth) if native else None
        self._before: Any = None
        self._found = Allocations()

    def __enter__(self) -> Allocations:
        if self._native is not None:
            gc.collect()
            self._native.begin()
            return self._found
        import tracemalloc  # only those who ask pay for it

        if tracemalloc.is_tracing():
            raise UsageError("trace_memory(): allocations are traced already; end that first (tracemalloc.stop())")
        gc.collect()
        tracemalloc.start(self._depth)
        self._before = tracemalloc.take_snapshot()
        return self._found

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        gc.collect()
        self._found.lines = _lines(self._differences() if self._native is None else self._native.end())
        with contextlib.suppress(OSError):  # a full disk: it is shown all the same
            keep_with_runs("allocations.txt", f"{self._found!r}\n")
        if self._show:
            say(self._found)

    def _differences(self) -> list[Held]:
        import tracemalloc

        after = tracemalloc.take_snapshot()
        tracemalloc.stop()
        differences, self._before = after.compare_to(self._before, "traceback"), None
        return [
            # The newest call is the last one of a traceback.
            Held(
                each.size_diff,
                each.count_diff,
                tuple((frame.filename, frame.lineno) for frame in reversed(each.traceback)),
            )
            for each in differences
        ]


def _lines(differences: list[Held]) -> tuple[Line, ...]:
    """Each allocation counts for the innermost line of the program's own code that led to it."""
    sums: dict[tuple[str, int], tuple[int, int]] = {}
    for each in differences:
        own = next((call for call in each.calls if is_own(call[0])), None)
        if own is None or not each.held_bytes:
            continue
        held, objects = sums.get(own, (0, 0))
        sums[own] = held + each.held_bytes, objects + each.objects
    found = [
        Line(file=file, line=line, held_bytes=held, objects=objects)
        for (file, line), (held, objects) in sums.items()
        if held >= LEAST_BYTES
    ]
    return tuple(sorted(found, key=lambda each: -each.held_bytes))
