"""Which line of the program's own is at work."""

from types import FrameType

_OTHERS = ("/lib/python", "site-packages", "dist-packages", "<frozen", "/holter/client/")


def is_own(frame: FrameType) -> bool:
    """Whether it is of neither a library nor ours."""
    return not any(part in frame.f_code.co_filename for part in _OTHERS)


def own_line(frame: FrameType | None) -> str:
    """`train.py:12 in step()`: the innermost line of the program's own; empty where there is none."""
    while frame is not None and not is_own(frame):
        frame = frame.f_back
    if frame is None:
        return ""
    code = frame.f_code
    where = f"{code.co_filename}:{frame.f_lineno}"
    return where if code.co_name.startswith("<") else f"{where} in {code.co_name}()"
