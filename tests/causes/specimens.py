"""Small pieces of evidence, for the examples of rules and their tests."""

from typing import Any

import msgspec

from holter.model.evidence import Caught, End, Evidence, OomDaemon, Said
from holter.model.records import OwnFrame, Raised

END_NS = 1_800_000_000_000_000_000
BEGAN_NS = END_NS - 3600 * 10**9
PID = 812


def before(seconds: float) -> int:
    """This many seconds before the end, in ns."""
    return END_NS - round(seconds * 1e9)


def exited(code: int, **more: Any) -> End:
    """A process that left with an exit code."""
    return _end(status=code << 8, source="wait", **more)


def signalled(number: int, **more: Any) -> End:
    """A process that a signal ended."""
    return _end(status=number, source="wait", **more)


def gone(**more: Any) -> End:
    """A process of whose end nobody saw anything."""
    return _end(source="gone", **more)


def raised(error: str, message: str, *, statement: str = "step(batch)", **more: Any) -> Raised:
    """An exception from `statement`, a line of the user's own `train.py`."""
    traceback = (
        f'Traceback (most recent call last):\n  File "/home/ada/train.py", line 41, in fit\n    {statement}\n'
        f"{error}: {message}\n"
    )
    frames = (OwnFrame(file="/home/ada/train.py", line=41, function="fit"),)
    usual = Raised(at_ns=before(0.2), type=error, message=message, traceback=traceback, frames=frames)
    return msgspec.structs.replace(usual, **more)


def failed(error: str, message: str, *, statement: str = "step(batch)", **more: Any) -> End:
    """A program that left with 1 because nobody caught this."""
    return msgspec.structs.replace(exited(1, raised=raised(error, message, statement=statement)), **more)


def caught(number: int, *, code: int = 0, before_s: float = 0.1, **more: Any) -> Caught:
    """A signal on its arrival; by default one that a process sent."""
    usual = Caught(at_ns=before(before_s), pid=PID, thread=PID, signal=number, code=code)
    return msgspec.structs.replace(usual, **more)


def in_a_large_frame() -> Caught:
    """A fault below the stack, as far from it as a frame that is larger than what is left."""
    above = "7ffd00801000-7ffd01001000 rw-p 00000000 00:00 0 [stack]"
    return caught(11, code=1, address=0x7FFD_0080_0FF8, stack_pointer=0x7FFD_0000_0000, mapping_above=above)


def said(text: str, *, before_s: float = 1.0, is_error: bool = True) -> Said:
    """A line of the console."""
    return Said(at_ns=before(before_s), text=text, is_error=is_error)


def evidence(subject: End, **more: Any) -> Evidence:
    """Evidence about a run that ended with this process, while its sidecar watched; no daemon for memory runs."""
    watched = Evidence(subject=subject, ended_ns=subject.at_ns, is_watched=True, oom_daemon=OomDaemon())
    return msgspec.structs.replace(watched, **more)


def _end(**more: Any) -> End:
    return msgspec.structs.replace(End(pid=PID, began_ns=BEGAN_NS, at_ns=END_NS), **more)
