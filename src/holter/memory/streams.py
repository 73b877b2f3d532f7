"""What Python's own buffers hold: streams in memory, arrays, mapped memory.

Nothing is moved, copied or locked by the look.
"""

import functools
import io
import sys
from typing import Any

from holter.memory.walk import Buffer, Reader, Walk, c_size, derives_from

_WRITING = 2  # a StringIO that was only written to, which keeps its text as text


def read_stream(walk: Walk, value: Any) -> None:
    """A BytesIO, by its own account: bytes that somebody else holds as well are not among it."""
    walk.add_buffer(Buffer(id(value), c_size(value)))


def read_array(walk: Walk, value: Any) -> None:
    """An `array.array`."""
    walk.add_buffer(Buffer(id(value), c_size(value)))


def read_text(walk: Walk, value: Any) -> None:
    """A StringIO, which has no account of its own: at least what lies before its place where it can't be seen."""
    if not _is_laid_out_as_known():
        try:
            walk.add_buffer(Buffer(id(value), io.StringIO.tell(value)))
        except ValueError:  # closed
            return
        walk.reach.is_least = True
        return
    size, allocated, state = _fields(value)
    if state == _WRITING:
        walk.reach.is_estimate = True  # one byte for each character; few texts have more
    walk.add_buffer(Buffer(id(value), size if state == _WRITING else 4 * allocated))


def read_mapping(walk: Walk, value: Any) -> None:
    """Mapped memory: of a file, or of the process alone."""
    kind = sys.modules["mmap"].mmap
    try:
        size = kind.__len__(value)
    except ValueError:  # closed
        return
    walk.add_buffer(Buffer(id(value), size, "file" if is_of_file(value) else "host"))


def is_of_file(value: object) -> bool:
    """Whether a value is memory that a file is mapped to."""
    module = sys.modules.get("mmap")
    if module is None or not derives_from(value, module.mmap):
        return False
    try:
        return bool(module.mmap.size(value) >= 0)
    except (OSError, ValueError):  # it has no file; it is closed
        return False


def _fields(value: Any) -> tuple[int, int, int]:
    """Of a StringIO: its length, the characters that it has room for, and whether it was only written to."""
    import ctypes  # only those who have one pay for it

    # A pointer to the characters, the place, and then these.
    start = id(value) + object.__basicsize__ + 2 * ctypes.sizeof(ctypes.c_void_p)
    size, allocated = (ctypes.c_ssize_t * 2).from_address(start)
    return size, allocated, ctypes.c_int.from_address(start + 2 * ctypes.sizeof(ctypes.c_ssize_t)).value


@functools.cache
def _is_laid_out_as_known() -> bool:
    """Whether this Python keeps a StringIO as those do that we know; tried on one of our own."""
    if sys.implementation.name != "cpython":
        return False
    try:
        read, only_written = io.StringIO("12345"), io.StringIO()
        only_written.write("1234567")
        size, allocated, state = _fields(read)
        return (size, 5 <= allocated <= 64, state) == (5, True, 1) and _fields(only_written)[::2] == (7, _WRITING)
    except (ImportError, ValueError):  # a Python without ctypes
        return False


STREAMS: dict[str, Reader] = {
    "_io.BytesIO": read_stream,
    "_io.StringIO": read_text,
    "array.array": read_array,
    "mmap.mmap": read_mapping,
}
