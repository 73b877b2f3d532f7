"""Follows the lines of a code: by `sys.monitoring` where Python has it (3.12), else by `sys.settrace`."""

import sys
import threading
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any, Protocol

from holter.memory.lines import LineProfile, Meter

TOOL = "holter.profile_memory"
# Not those of debuggers, coverage and optimizers; the first is where profilers belong.
TOOL_IDS = (2, 3, 4)


class _Meters(threading.local):
    """Where a thread's events of a code go, by the code's id."""

    def __init__(self) -> None:
        self.of: dict[int, Meter] = {}

    def direct(self, profile: LineProfile, meter: Meter) -> dict[int, Meter | None]:
        """Have the events of a profile's codes go to a meter; returns where they went before."""
        before = {code: self.of.get(code) for code in profile.codes}
        self.of.update(dict.fromkeys(profile.codes, meter))
        return before

    def restore(self, before: dict[int, Meter | None]) -> None:
        """Have them go where they went before; codes of which nobody wants events are forgotten with their ids."""
        for code, meter in before.items():
            if meter is None:
                self.of.pop(code, None)
            else:
                self.of[code] = meter


_traced, _monitored = _Meters(), _Meters()


class Follower(Protocol):
    """Tells a thread's meter about the frames and lines of a profile's codes."""

    def prepare(self, profile: LineProfile) -> None:
        """Once, before the first call."""

    def begin(self, profile: LineProfile, meter: Meter) -> object:
        """The code is about to run in this thread. Returns what `end` needs."""

    def end(self, token: Any) -> None:
        """It has returned, raised or paused."""


def follower() -> Follower:
    """The best that this Python has and nobody else has taken."""
    monitoring: Any = getattr(sys, "monitoring", None)
    if monitoring is None:
        return Tracing()
    for tool in TOOL_IDS:
        if monitoring.get_tool(tool) == TOOL:
            return Monitoring(monitoring, tool)
    for tool in TOOL_IDS:
        if monitoring.get_tool(tool) is None:
            monitoring.use_tool_id(tool, TOOL)
            return Monitoring(monitoring, tool)
    return Tracing()


class Tracing:
    """With `sys.settrace`: only the profiled frames have a line function; a tracer that was there keeps its own."""

    def prepare(self, profile: LineProfile) -> None:
        """Nothing."""

    def begin(self, profile: LineProfile, meter: Meter) -> object:
        """Let this thread's events go to the meter, and have events."""
        meters, tracer = _traced.direct(profile, meter), sys.gettrace()
        if getattr(tracer, "is_holters", False):
            return meters, None, tracer
        ours = _tracer(tracer)
        sys.settrace(ours)
        return meters, ours, tracer

    def end(self, token: Any) -> None:
        """Set the tracer before, unless the code has set another meanwhile."""
        meters, ours, before = token
        _traced.restore(meters)
        if ours is not None and sys.gettrace() is ours:
            sys.settrace(before)


def _tracer(before: Callable[..., Any] | None) -> Callable[..., Any]:
    meters = _traced.of  # a tracer belongs to one thread

    def call(frame: FrameType, event: str, arg: object, /) -> Any:
        meter = meters.get(id(frame.f_code))
        theirs = None if before is None else before(frame, event, arg)
        if meter is None:
            return theirs
        meter.enter(id(frame.f_code), frame.f_lineno)
        return _line(meter) if theirs is None else _both(_line(meter), theirs)

    call.is_holters = True  # type: ignore[attr-defined]  # how we know it again
    return call


def _line(meter: Meter) -> Callable[..., Any]:
    def line(frame: FrameType, event: str, arg: object, /) -> Any:
        if event == "line":
            meter.reach(id(frame.f_code), frame.f_lineno)
        elif event == "return":
            meter.leave()
        return line

    return line


def _both(ours: Callable[..., Any], theirs: Any) -> Callable[..., Any]:
    def line(frame: FrameType, event: str, arg: object, /) -> Any:
        nonlocal theirs
        ours(frame, event, arg)
        if theirs is not None:
            theirs = theirs(frame, event, arg)
        return line

    return line


class Monitoring:
    """With `sys.monitoring`: only the profiled codes have events, and the rest of the program runs at full speed."""

    def __init__(self, monitoring: Any, tool: int) -> None:
        self._monitoring = monitoring
        self._tool = tool
        events = monitoring.events
        self._events = events.PY_START | events.PY_RESUME | events.LINE | events.PY_RETURN | events.PY_YIELD
        for event, call in (
            (events.PY_START, _on_start),
            (events.PY_RESUME, _on_resume),
            (events.LINE, _on_line),
            (events.PY_RETURN, _on_leave),
            (events.PY_YIELD, _on_leave),
        ):
            monitoring.register_callback(tool, event, call)

    def prepare(self, profile: LineProfile) -> None:
        """Have events for its codes."""
        for code in profile.codes.values():
            self._monitoring.set_local_events(self._tool, code, self._events)

    def begin(self, profile: LineProfile, meter: Meter) -> object:
        """Let this thread's events go to the meter."""
        return _monitored.direct(profile, meter)

    def end(self, token: Any) -> None:
        """Let them go to the one before."""
        _monitored.restore(token)


def _on_start(code: CodeType, offset: int) -> None:
    meter = _monitored.of.get(id(code))
    if meter is not None:
        meter.enter(id(code), code.co_firstlineno)


def _on_resume(code: CodeType, offset: int) -> None:
    meter = _monitored.of.get(id(code))
    if meter is not None:
        lines = [line for start, end, line in code.co_lines() if start <= offset < end and line is not None]
        meter.enter(id(code), lines[0] if lines else code.co_firstlineno)


def _on_line(code: CodeType, line: int) -> None:
    meter = _monitored.of.get(id(code))
    if meter is not None:
        meter.reach(id(code), line)


def _on_leave(code: CodeType, offset: int, value: object) -> None:
    meter = _monitored.of.get(id(code))
    if meter is not None:
        meter.leave()
