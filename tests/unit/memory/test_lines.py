"""Line by line: the right lines are blamed, whatever kind of function it is, and the program does not notice.

Memory is an invented number here, which the code under test sets itself: a line takes exactly what it says.
"""

import asyncio
import contextlib
import sys
import threading
from collections.abc import AsyncGenerator, Callable, Generator, Iterator
from typing import Any

import pytest

from holter.errors import UsageError
from holter.memory import profiling
from holter.memory.line_tracing import TOOL, TOOL_IDS, Monitoring, Tracing, follower
from holter.memory.profiling import profile_memory
from tests.unit.memory.imitated_monitoring import ImitatedMonitoring

MIB = 1 << 20


class Memory:
    """What the process is said to have, in MiB."""

    now = 100

    def take(self, mib: int) -> int:
        Memory.now += mib
        return mib


memory = Memory()


@pytest.fixture(autouse=True)
def invented_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    Memory.now = 100
    monkeypatch.setattr(profiling, "rss_bytes", lambda: Memory.now * MIB)
    monkeypatch.setattr(profiling, "gpu_reader", lambda: None)
    monkeypatch.setattr(profiling, "_profilers", set())  # nothing is to be said when all tests have ended
    monkeypatch.setenv("HOLTER_SILENT", "1")


# Python 3.12 has the real one, which would tell of the same codes, too.
WAYS = ["best", "settrace", *(["imitated"] if sys.version_info < (3, 12) else [])]


@pytest.fixture(autouse=True, params=WAYS)
def followers(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """As this Python does it, as Python 3.11 does, and as Python 3.12 does as far as that can be imitated."""
    if request.param == "settrace":
        monkeypatch.setattr(profiling, "follower", Tracing)
    if request.param != "imitated":
        yield
        return
    imitated = ImitatedMonitoring()
    monkeypatch.setattr(sys, "monitoring", imitated, raising=False)
    imitated.start()
    try:
        yield
    finally:
        imitated.stop()


def blamed(function: Any) -> dict[str, int]:  # noqa: ANN401  it has an attribute more than its type
    """The source of each line that took something, and how many MiB."""
    rows = list(function.memory_profile.rows())
    taken = {text.strip(): float(increment.split()[0]) for _, _, increment, _, text, *_ in rows if increment}
    return {text: round(mib) for text, mib in taken.items() if mib}


def occurrences(function: Any) -> dict[str, int]:  # noqa: ANN401  the same
    return {text.strip(): int(times) for _, _, _, times, text, *_ in function.memory_profile.rows() if times}


@pytest.mark.parametrize("followers", ["best"], indirect=True)
def test_python_3_12_has_a_better_way_than_settrace() -> None:
    assert (type(follower()) is Tracing) == (sys.version_info < (3, 12))


@pytest.mark.parametrize("followers", ["imitated"], indirect=True)
def test_a_place_that_another_tool_has_taken_is_left_to_it() -> None:
    monitoring = sys.monitoring  # type: ignore[attr-defined]  # of Python 3.12
    for tool in TOOL_IDS[:-1]:
        monitoring.use_tool_id(tool, "another")
    assert type(follower()) is Monitoring
    assert type(follower()) is Monitoring  # its own place, once more
    assert monitoring.get_tool(TOOL_IDS[-1]) == TOOL


@pytest.mark.parametrize("followers", ["imitated"], indirect=True)
def test_where_other_tools_have_taken_all_places_the_old_way_is_gone() -> None:
    for tool in TOOL_IDS:
        sys.monitoring.use_tool_id(tool, "another")  # type: ignore[attr-defined]  # of Python 3.12
    assert type(follower()) is Tracing


def test_each_line_takes_what_it_takes() -> None:
    @profile_memory
    def work(times: int) -> int:
        memory.take(5)
        for _ in range(times):
            memory.take(3)
        memory.take(-4)
        return memory.take(2)

    assert work(2) == 2
    assert blamed(work) == {
        "memory.take(5)": 5,
        "memory.take(3)": 6,
        "memory.take(-4)": -4,
        "return memory.take(2)": 2,
    }
    assert occurrences(work) == {
        "@profile_memory": 1,
        "memory.take(5)": 1,
        "for _ in range(times):": 3,
        "memory.take(3)": 2,
        "memory.take(-4)": 1,
        "return memory.take(2)": 1,
    }


def test_calls_add_up_and_what_happens_between_them_is_nobodys() -> None:
    @profile_memory
    def work() -> None:
        memory.take(5)

    work()
    memory.take(1000)
    work()
    assert blamed(work) == {"memory.take(5)": 10}
    assert work.memory_profile.calls == 2  # type: ignore[attr-defined]  # an attribute more than its type


def test_what_an_inner_function_takes_counts_for_its_own_lines() -> None:
    @profile_memory
    def work() -> int:
        def inner() -> None:
            memory.take(7)

        inner()
        return sum(memory.take(each) for each in (1, 2))

    work()
    assert blamed(work) == {"memory.take(7)": 7, "return sum(memory.take(each) for each in (1, 2))": 3}


def test_what_other_functions_take_counts_for_the_line_that_called_them() -> None:
    def other() -> None:
        memory.take(7)
        memory.take(8)

    @profile_memory
    def work() -> None:
        other()

    work()
    assert blamed(work) == {"other()": 15}


def test_recursion() -> None:
    @profile_memory
    def work(depth: int) -> None:
        memory.take(1)
        if depth:
            work(depth - 1)
        memory.take(10)

    work(3)
    assert blamed(work) == {"memory.take(1)": 4, "memory.take(10)": 40}
    assert occurrences(work)["if depth:"] == 4


def test_two_profiled_functions_that_call_each_other() -> None:
    @profile_memory
    def even(number: int) -> None:
        memory.take(1)
        if number:
            odd(number - 1)

    @profile_memory
    def odd(number: int) -> None:
        memory.take(10)
        if number:
            even(number - 1)

    even(4)
    assert blamed(even)["memory.take(1)"] == 3
    assert blamed(odd)["memory.take(10)"] == 20
    assert occurrences(even)["if number:"] == 3


def test_an_exception_passes_and_the_line_that_raised_is_blamed() -> None:
    def fail() -> None:
        memory.take(5)
        raise ValueError("failed")

    @profile_memory
    def work() -> None:
        with contextlib.suppress(ValueError):
            (fail)()
        memory.take(2)
        fail()

    with pytest.raises(ValueError, match="failed"):
        work()
    assert blamed(work) == {"(fail)()": 5, "memory.take(2)": 2, "fail()": 5}


def test_an_exception_out_of_an_inner_function_that_is_caught() -> None:
    @profile_memory
    def work() -> None:
        def inner() -> None:
            memory.take(5)
            raise ValueError

        try:
            inner()
        except ValueError:
            memory.take(3)
        memory.take(1)

    work()
    assert blamed(work) == {"memory.take(5)": 5, "memory.take(3)": 3, "memory.take(1)": 1}


def test_generators_stay_generators() -> None:
    @profile_memory
    def work() -> Generator[int, int, str]:
        memory.take(5)
        got = yield 1
        memory.take(got)
        try:
            yield 2
        except ValueError:
            memory.take(7)
        return "done"

    generator = work()
    assert next(generator) == 1
    memory.take(1000)
    assert generator.send(3) == 2
    memory.take(1000)
    with pytest.raises(StopIteration, match="done"):
        generator.throw(ValueError())
    assert blamed(work) == {"memory.take(5)": 5, "memory.take(got)": 3, "memory.take(7)": 7}
    assert work.memory_profile.calls == 1  # type: ignore[attr-defined]  # an attribute more than its type


def test_a_generator_that_nobody_finishes_is_closed() -> None:
    closed = []

    @profile_memory
    def work() -> Iterator[int]:
        try:
            yield 1
        finally:
            closed.append(memory.take(4))

    generator = work()
    next(generator)
    generator.close()  # type: ignore[attr-defined]  # a generator has it
    assert closed == [4]
    assert blamed(work) == {"closed.append(memory.take(4))": 4}


def test_coroutines_that_take_turns() -> None:
    @profile_memory
    async def work(mib: int) -> int:
        memory.take(mib)
        await asyncio.sleep(0)
        memory.take(2)
        return mib

    async def both() -> list[int]:
        return [*await asyncio.gather(work(5), work(6))]

    assert asyncio.run(both()) == [5, 6]
    assert blamed(work) == {"memory.take(mib)": 11, "memory.take(2)": 4}


def test_asynchronous_generators() -> None:
    @profile_memory
    async def work() -> AsyncGenerator[int, int]:
        memory.take(5)
        got = yield 1
        await asyncio.sleep(0)
        try:
            yield got
        except ValueError:
            memory.take(7)
            yield 3

    async def use() -> list[int]:
        generator = work()
        seen = [await generator.__anext__(), await generator.asend(2)]
        memory.take(1000)
        seen.append(await generator.athrow(ValueError()))
        return [*seen, *[each async for each in generator]]

    assert asyncio.run(use()) == [1, 2, 3]
    assert blamed(work) == {"memory.take(5)": 5, "memory.take(7)": 7}


def test_methods_of_all_kinds() -> None:
    class Model:
        @profile_memory
        def fit(self, mib: int) -> int:
            return memory.take(mib)

        @profile_memory
        @classmethod
        def load(cls, mib: int) -> int:
            return memory.take(mib + 1)

        @profile_memory
        @staticmethod
        def save(mib: int) -> int:
            return memory.take(mib + 2)

    assert (Model().fit(1), Model.load(1), Model.save(1)) == (1, 2, 3)
    assert blamed(Model.fit) == {"return memory.take(mib)": 1}
    assert blamed(Model.load) == {"return memory.take(mib + 1)": 2}
    assert Model.fit.__name__ == "fit"


def test_under_another_decorator_the_function_itself_is_shown() -> None:
    import functools

    def twice(function: Callable[[], None]) -> Callable[[], None]:
        @functools.wraps(function)
        def call() -> None:
            function()
            function()

        return call

    @profile_memory
    @twice
    def work() -> None:
        memory.take(5)

    work()
    assert blamed(work) == {"memory.take(5)": 10}


def test_threads_each_count_their_own_lines() -> None:
    ready = threading.Barrier(2)

    @profile_memory
    def work() -> None:
        for _ in range(100):
            pass
        ready.wait()

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert occurrences(work)["pass"] == 200
    assert work.memory_profile.calls == 2  # type: ignore[attr-defined]  # an attribute more than its type


@pytest.mark.parametrize("followers", ["best", "settrace"], indirect=True)  # the imitation is a tracer itself
def test_a_tracer_that_was_there_goes_on_tracing_and_is_there_afterwards() -> None:
    seen = []

    def tracer(frame: Any, event: str, arg: object) -> Any:  # noqa: ANN401  as settrace has it
        if frame.f_code.co_name == "work":
            seen.append(event)
        return tracer

    @profile_memory
    def work() -> None:
        memory.take(5)

    before = sys.gettrace()
    sys.settrace(tracer)
    try:
        work()
        after = sys.gettrace()
    finally:
        sys.settrace(before)
    assert after is tracer
    assert seen == ["call", "line", "return"]
    assert blamed(work) == {"memory.take(5)": 5}


def test_what_is_no_function_is_refused_at_once() -> None:
    with pytest.raises(UsageError, match="profile_memory takes a Python function, got builtin_function_or_method"):
        profile_memory(len)
    with pytest.raises(UsageError, match="of a class, decorate the methods"):
        profile_memory(Memory)


def test_a_failure_of_ours_is_not_the_functions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HOLTER_STRICT")

    @profile_memory
    def work() -> int:
        return memory.take(5)

    monkeypatch.setattr(profiling, "rss_bytes", lambda: 1 // 0)
    assert work() == 5


def test_a_failure_in_the_middle_of_a_call_is_not_the_functions_either(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HOLTER_STRICT")
    monkeypatch.setattr(profiling, "rss_bytes", lambda: Memory.now * MIB if Memory.now < 105 else 1 // 0)

    @profile_memory
    def work() -> int:
        memory.take(3)
        memory.take(5)
        return memory.take(7)

    assert work() == 7
    assert blamed(work) == {"memory.take(3)": 3}


def test_gpu_memory_stands_beside_it(monkeypatch: pytest.MonkeyPatch) -> None:
    from holter.memory import lines

    monkeypatch.setattr(lines, "cuda_is_used", lambda: True)
    monkeypatch.setattr(profiling, "gpu_reader", lambda: lambda: (Memory.now - 100) * 3 * MIB)

    @profile_memory
    def work() -> None:
        memory.take(5)
        memory.take(1)

    work()
    table = repr(work.memory_profile).splitlines()  # type: ignore[attr-defined]  # an attribute more than its type
    assert table[3] == "Line #    Mem usage    Increment    GPU usage    GPU incr.  Occurrences   Line Contents"
    assert table[-1].split()[1:] == ("106.0 MiB 1.0 MiB 18.0 MiB 3.0 MiB 1 memory.take(1)".split())


def test_the_table_comes_after_the_first_call_and_again_at_the_end(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("HOLTER_SILENT")

    @profile_memory
    def work(depth: int = 0) -> None:
        memory.take(5)
        if depth:
            work(depth - 1)

    work(depth=2)
    first = capsys.readouterr()
    assert (first.out, first.err.count("Line Contents")) == ("", 1)
    assert "work, 3 calls" in first.err
    work()
    assert capsys.readouterr().err == ""
    profiling._show_rest()
    assert "work, 4 calls" in capsys.readouterr().err


def test_show_false_prints_nothing(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.delenv("HOLTER_SILENT")

    @profile_memory(show=False)
    def work() -> None:
        memory.take(5)

    work()
    assert capsys.readouterr() == ("", "")
