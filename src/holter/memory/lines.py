"""What the lines of a function took, and the table of it that `memory_profiler`'s users know."""

import html
import linecache
import threading
from collections.abc import Callable, Iterator
from types import CodeType

import msgspec

from holter.errors import is_strict
from holter.memory.readings import cuda_is_used

MIB = 1 << 20
Reading = Callable[[], int]
_TEMPLATE = "{0:>6} {1:>12} {2:>12}  {3:>10}   {4}"
_GPU_TEMPLATE = "{0:>6} {1:>12} {2:>12} {5:>12} {6:>12}  {3:>10}   {4}"
_HEAD = ("Line #", "Mem usage", "Increment", "Occurrences", "Line Contents", "GPU usage", "GPU incr.")


class LineMemory(msgspec.Struct):
    """One line over all calls: what memory grew by while it ran, and the most that there was after it."""

    most_bytes: int = 0
    increment_bytes: int = 0
    occurrences: int = 0
    gpu_most_bytes: int = 0
    gpu_increment_bytes: int = 0

    def add(self, other: "LineMemory") -> None:
        """Count another thread's, or another call's, in."""
        self.most_bytes = max(self.most_bytes, other.most_bytes)
        self.increment_bytes += other.increment_bytes
        self.occurrences += other.occurrences
        self.gpu_most_bytes = max(self.gpu_most_bytes, other.gpu_most_bytes)
        self.gpu_increment_bytes += other.gpu_increment_bytes


class LineProfile:
    """The lines of one piece of code, over all its calls so far; shows itself as a table. Thread-safe.

    The increments add up to what memory grew by while the code ran: what a function inside of it took counts for the
    function's own lines.
    """

    def __init__(self, name: str, *codes: CodeType) -> None:
        self.name = name
        self.file = codes[0].co_filename
        self.codes = {id(each): each for code in codes for each in _with_inner(code)}
        self.calls = 0
        self.has_gpu = False
        self.lines: dict[int, LineMemory] = {}
        self._first = min(code.co_firstlineno for code in codes)
        self._lock = threading.Lock()

    def add(self, lines: dict[int, LineMemory]) -> None:
        """Count what one thread found."""
        with self._lock:
            for number, found in lines.items():
                self.lines.setdefault(number, LineMemory()).add(found)

    def count_call(self) -> None:
        """A call has ended."""
        with self._lock:
            self.calls += 1

    def __repr__(self) -> str:
        template = _GPU_TEMPLATE if self.has_gpu else _TEMPLATE
        head = template.format(*_HEAD)
        rows = [template.format(*row) for row in self.rows()]
        calls = f"{self.calls:,} call{'s' * (self.calls != 1)}"
        return "\n".join([f"Filename: {self.file}", f"{self.name}, {calls}", "", head, "=" * len(head), *rows])

    def _repr_html_(self) -> str:
        return f'<pre style="white-space:pre;overflow-x:auto">{html.escape(repr(self))}</pre>'

    def rows(self) -> Iterator[tuple[str, ...]]:
        """The cells of each line of the source, in the order of the head; empty where it did not run."""
        source = linecache.getlines(self.file)
        last = max(line for code in self.codes.values() for _, _, line in code.co_lines() if line is not None)
        for number in range(max(1, self._first), last + 1):
            found = self.lines.get(number)
            text = source[number - 1].rstrip("\n") if number <= len(source) else ""
            if found is not None and number == self._first and not found.occurrences:
                found = msgspec.structs.replace(found, occurrences=self.calls)
            yield str(number), *_cells(found, text)


class Meter:
    """Follows one thread through a profiled code: blames each change of memory on the line that ran meanwhile."""

    def __init__(self, read_rss: Reading, find_gpu: Callable[[], Reading | None]) -> None:
        self.lines: dict[int, LineMemory] = {}
        self.stack: list[tuple[int, int]] = []
        """The code, by its id, and the line that each open frame is in."""
        self._read_rss = read_rss
        self._find_gpu = find_gpu
        self._read_gpu: Reading | None = None
        self._rss = self._gpu = 0

    @property
    def sees_gpu(self) -> bool:
        """Whether GPU memory is measured."""
        return self._read_gpu is not None

    def look(self) -> None:
        """Begin again from what memory is now: what happened since is nobody's."""
        self._rss, self._gpu = self._read_rss(), self._gpu_now()

    def enter(self, code: int, line: int) -> None:
        """A frame begins, or goes on."""
        self._blame()
        self.stack.append((code, line))

    def reach(self, code: int, line: int) -> None:
        """A line begins."""
        self._blame()
        stack = self.stack
        if not stack or stack[-1][0] != code:
            self._find_frame(code)
        stack[-1] = (code, line)
        found = self.lines.get(line)
        if found is None:
            found = self.lines[line] = LineMemory()
        found.occurrences += 1

    def _find_frame(self, code: int) -> None:
        """After an exception: it has left the frames on top, or was thrown into a generator's, of which nobody told."""
        if any(each == code for each, _ in self.stack):
            while self.stack[-1][0] != code:
                self.stack.pop()
        else:
            self.stack.append((code, 0))

    def leave(self, depth: int | None = None) -> None:
        """A frame ends, or all frames beyond `depth`."""
        self._blame()
        del self.stack[-1 if depth is None else depth :]

    def _blame(self) -> None:
        try:
            rss, gpu = self._read_rss(), self._gpu_now()
        except Exception:  # in the middle of the user's code, whose line this would end
            if is_strict():
                raise
            return
        if self.stack:
            line = self.stack[-1][1]
            found = self.lines.get(line)
            if found is None:
                found = self.lines[line] = LineMemory()
            found.increment_bytes += rss - self._rss
            if rss > found.most_bytes:
                found.most_bytes = rss
            if self._read_gpu is not None:
                found.gpu_increment_bytes += gpu - self._gpu
                found.gpu_most_bytes = max(found.gpu_most_bytes, gpu)
        self._rss, self._gpu = rss, gpu

    def _gpu_now(self) -> int:
        if self._read_gpu is None and cuda_is_used():  # since this line
            self._read_gpu = self._find_gpu()
        return 0 if self._read_gpu is None else self._read_gpu()


def _cells(found: LineMemory | None, text: str) -> tuple[str, ...]:
    if found is None:
        return "", "", "", text, "", ""
    return (
        _mib(found.most_bytes),
        _mib(found.increment_bytes),
        str(found.occurrences or ""),
        text,
        _mib(found.gpu_most_bytes),
        _mib(found.gpu_increment_bytes),
    )


def _mib(size_bytes: int) -> str:
    return f"{size_bytes / MIB:.1f} MiB"


def _with_inner(code: CodeType) -> Iterator[CodeType]:
    yield code
    for each in code.co_consts:
        if type(each) is CodeType:
            yield from _with_inner(each)
