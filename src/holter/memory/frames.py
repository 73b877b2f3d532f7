"""The frames of the user's own code in a traceback, with the arrays that they hold."""

import os
import sys
from collections import deque
from types import FrameType, TracebackType

from holter.memory.arrays import ArrayReader, without_torch_hooks
from holter.model.cutting import bounded
from holter.model.records import OwnFrame

MOST_FRAMES = 20
MOST_ARRAYS = 30
MOST_VALUES = 20_000
MOST_TEXT = 300

_INSTALLED = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}")
_HOLTER = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_NOT_OWN = (os.path.dirname(os.path.abspath(os.__file__)) + os.sep, _HOLTER + os.sep)
# What people type: `python -c`, standard input, notebooks, the interactive interpreter.
_TYPED = ("<string>", "<stdin>", "<ipython-input", "<python-input")
OPTIMIZED = 0x1  # inspect.COOPTIMIZED, without the five milliseconds of its import


def own_frames(trace: TracebackType | None) -> tuple[OwnFrame, ...]:
    """The innermost frames of the user's own code, the innermost last. Keeps no reference to anything in them."""
    found: deque[tuple[FrameType, int]] = deque(maxlen=MOST_FRAMES)
    while trace is not None:
        if is_own(trace.tb_frame.f_code.co_filename):
            found.append((trace.tb_frame, trace.tb_lineno or 0))
        trace = trace.tb_next
    reader = ArrayReader(MOST_VALUES)
    with without_torch_hooks():
        # The innermost first: should there be too many values to look at, those of the outer frames are left out.
        described = [_describe(frame, line, reader) for frame, line in reversed(found)]
    return tuple(reversed(described))


def is_own(file: str) -> bool:
    """Whether a file is neither installed nor part of Python nor ours."""
    if file.startswith("<"):
        return file.startswith(_TYPED)
    if file.endswith(".pyx") and not os.path.exists(file):
        return False  # a compiled module names its source as it lay where somebody built it
    return not file.startswith(_NOT_OWN) and not any(mark in file for mark in _INSTALLED)


def _describe(frame: FrameType, line: int, reader: ArrayReader, /) -> OwnFrame:
    arrays = [array for name, value in frame_locals(frame) if (array := reader.read(name, value)) is not None]
    arrays.sort(key=lambda array: -(array.size_bytes or 0))
    code = frame.f_code
    return OwnFrame(
        file=bounded(code.co_filename, MOST_TEXT),
        line=line,
        function=bounded(code.co_qualname, MOST_TEXT),
        arrays=tuple(arrays[:MOST_ARRAYS]),
    )


def frame_locals(frame: FrameType) -> list[tuple[str, object]]:
    """The names and values of a frame; asking leaves nothing behind in it."""
    held = frame.f_locals
    is_function = bool(frame.f_code.co_flags & OPTIMIZED)
    if not is_function and type(held) is not dict:
        return []  # somebody's own mapping, for `exec` or the body of a class: asking it would run their code
    found = [(name, value) for name, value in list(held.items()) if type(name) is str]
    # Before Python 3.13 the frame keeps the copy of its locals that we asked for, and with it the user's arrays. Three
    # references to it are the frame's, ours and the call's: then nobody else has it, such as the user by `locals()`.
    if is_function and sys.version_info < (3, 13) and sys.getrefcount(held) <= 3:
        code = frame.f_code
        for name in (*code.co_varnames, *code.co_cellvars, *code.co_freevars):
            held.pop(name, None)
    return found
