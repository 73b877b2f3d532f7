"""`@holter.profile_memory`: what each line of a function takes, kept with the run."""

import atexit
import functools
import os
import threading
import time
import weakref
from collections.abc import AsyncGenerator, Callable, Generator
from types import CodeType, FunctionType, TracebackType
from typing import Any, TypeVar, overload

from holter.errors import UsageError, is_strict
from holter.memory.keeping import keep_with_runs, say
from holter.memory.line_tracing import follower
from holter.memory.lines import LineProfile, Meter
from holter.memory.readings import gpu_reader, rss_bytes

KEEP_AFTER_S = 10.0

# inspect's, without the five milliseconds of its import
_GENERATOR, _COROUTINE, _ASYNC_GENERATOR = 0x20, 0x80, 0x200

F = TypeVar("F", bound=Callable[..., Any])


@overload
def profile_memory(function: F, /) -> F: ...
@overload
def profile_memory(*, show: bool = True) -> Callable[[F], F]: ...
def profile_memory(function: Any = None, /, *, show: bool = True) -> Any:
    """Record what each line of a function takes of host and GPU memory, over all its calls.

    The table is printed to stderr after the first call, and at exit if there were more; the run keeps it as
    `files/memory/NAME.txt`, and `function.memory_profile` shows it at any time. Works for methods, generators,
    coroutines and recursive functions, in any thread. Raises UsageError for what is not a Python function.

    Args:
        show: False prints nothing.
    """
    if function is None:
        return lambda given: profile_memory(given) if show else _wrap(given, show=False)
    return _wrap(function, show=show)


class Profiler:
    """One profiled code: runs it under measurement, step by step."""

    def __init__(self, name: str, *codes: CodeType, show: bool) -> None:
        self.profile = LineProfile(name, *codes)
        self._follower = follower()
        self._follower.prepare(self.profile)
        self._threads = threading.local()
        self._show = show
        self._shown_calls = 0
        self._keep_at = 0.0
        _profilers.add(self)

    def run(self, step: Callable[..., Any], *args: Any, **keywords: Any) -> Any:
        """Call something during which the code runs in this thread: all of a function, or one step of a generator."""
        begun = self._guard(self._begin)
        try:
            return step(*args, **keywords)
        finally:
            if begun is not None:
                self._guard(lambda: self._end(*begun))

    def count_call(self) -> None:
        """A call has ended, however it did; one inside of another is not reported on its own."""
        self.profile.count_call()
        meter = getattr(self._threads, "meter", None)
        if meter is None or not meter.stack:
            self._guard(self._report)

    def show_rest(self) -> None:
        """At the end of the program: show and keep what came after the first call."""
        if self.profile.calls > self._shown_calls:
            self._guard(lambda: self._tell(is_last=True))

    def _report(self) -> None:
        if self._shown_calls == 0:
            self._tell()
        elif time.monotonic() > self._keep_at:
            self._keep()

    def _tell(self, *, is_last: bool = False) -> None:
        self._shown_calls = self.profile.calls
        if self._show and os.environ.get("HOLTER_SILENT", "") in ("", "0"):
            say(self.profile, in_notebook=not is_last)
        self._keep()

    def _keep(self) -> None:
        self._keep_at = time.monotonic() + KEEP_AFTER_S
        keep_with_runs(f"{self.profile.name}.txt", f"{self.profile!r}\n")

    def _begin(self) -> tuple[Meter, int, object]:
        meter = getattr(self._threads, "meter", None)
        if meter is None:
            meter = self._threads.meter = Meter(rss_bytes, gpu_reader)
        depth = len(meter.stack)
        if depth == 0:
            meter.look()
        return meter, depth, self._follower.begin(self.profile, meter)

    def _end(self, meter: Meter, depth: int, token: object) -> None:
        self._follower.end(token)
        meter.leave(depth)
        if depth == 0:
            self.profile.has_gpu = self.profile.has_gpu or meter.sees_gpu
            lines, meter.lines = meter.lines, {}
            self.profile.add(lines)

    def _guard(self, work: Callable[[], Any]) -> Any:
        try:
            return work()
        except Exception:
            if is_strict():
                raise
            return None


_profilers: weakref.WeakSet[Profiler] = weakref.WeakSet()


@atexit.register
def _show_rest() -> None:
    for profiler in list(_profilers):
        profiler.show_rest()


class _Steps:
    """A generator, or whatever is awaited, each step of which is measured."""

    def __init__(self, profiler: Profiler, inner: Any) -> None:
        self._profiler = profiler
        self._inner = inner

    def __iter__(self) -> "_Steps":
        return self

    __await__ = __iter__

    def __next__(self) -> Any:
        return self.send(None)

    def send(self, value: Any) -> Any:
        return self._profiler.run(self._inner.send, value)

    def throw(self, error: Any, value: Any = None, trace: TracebackType | None = None, /) -> Any:
        return self._profiler.run(self._inner.throw, error if value is None else value)

    def close(self) -> None:
        self._profiler.run(self._inner.close)


def _wrap(function: Any, *, show: bool) -> Any:
    if type(function) in (staticmethod, classmethod):
        return type(function)(_wrap(function.__func__, show=show))
    inner = function
    while type(getattr(inner, "__wrapped__", None)) is FunctionType:
        inner = inner.__wrapped__  # what another decorator has wrapped is what people want to see
    if type(inner) is not FunctionType:
        raise UsageError(
            f"profile_memory takes a Python function, got {type(function).__name__} {str(function)[:60]}: "
            "of a class, decorate the methods"
        )
    profiler = Profiler(inner.__qualname__, inner.__code__, show=show)
    wrapper = _wrapper(function, profiler)
    wrapper.memory_profile = profiler.profile
    return wrapper


def _wrapper(function: Any, profiler: Profiler) -> Any:
    flags = getattr(getattr(function, "__code__", None), "co_flags", 0)
    if flags & _GENERATOR:
        return _generator_wrapper(function, profiler)
    if flags & _COROUTINE:
        return _coroutine_wrapper(function, profiler)
    if flags & _ASYNC_GENERATOR:
        return _async_generator_wrapper(function, profiler)

    @functools.wraps(function)
    def call(*args: Any, **keywords: Any) -> Any:
        try:
            return profiler.run(function, *args, **keywords)
        finally:
            profiler.count_call()

    return call


def _generator_wrapper(function: Any, profiler: Profiler) -> Any:
    @functools.wraps(function)
    def generate(*args: Any, **keywords: Any) -> Generator[Any, Any, Any]:
        try:
            return (yield from _Steps(profiler, function(*args, **keywords)))
        finally:
            profiler.count_call()

    return generate


def _coroutine_wrapper(function: Any, profiler: Profiler) -> Any:
    @functools.wraps(function)
    async def call(*args: Any, **keywords: Any) -> Any:
        try:
            return await _Steps(profiler, function(*args, **keywords))
        finally:
            profiler.count_call()

    return call


def _async_generator_wrapper(function: Any, profiler: Profiler) -> Any:
    @functools.wraps(function)
    async def generate(*args: Any, **keywords: Any) -> AsyncGenerator[Any, Any]:
        inner = function(*args, **keywords)
        step = inner.asend(None)
        try:
            while True:
                try:
                    value = await _Steps(profiler, step.__await__())
                except StopAsyncIteration:
                    return
                try:
                    step = inner.asend((yield value))
                except GeneratorExit:
                    raise
                except BaseException as error:  # noqa: BLE001  it is the inner generator's to deal with
                    step = inner.athrow(error)
        finally:
            await inner.aclose()
            profiler.count_call()

    return generate
