"""The lines whose allocations are still held."""

import inspect
import json
import mmap
import sys
import tracemalloc

import pytest

import holter
from holter.errors import UsageError

kept: list[object] = []


def leak() -> None:
    kept.append(json.loads(json.dumps({str(number): [number] * 50 for number in range(200)})))


def churn() -> int:
    return len([bytearray(1 << 16) for _ in range(20)])


def test_the_line_that_holds_on_is_named_also_where_a_library_allocates(capsys: pytest.CaptureFixture[str]) -> None:
    with holter.trace_memory() as grown:
        for _ in range(5):
            leak()
            churn()
    kept.clear()
    first = grown.lines[0]
    begin = inspect.getsourcelines(leak)[1]
    assert (first.file, first.line) == (__file__, begin + 1)
    assert first.held_bytes > 100_000
    assert first.code.startswith("kept.append(json.loads")
    assert sum(each.held_bytes for each in grown if "churn" in each.code or "bytearray" in each.code) == 0
    assert f"test_leaking_lines.py:{begin + 1}" in capsys.readouterr().err
    assert not tracemalloc.is_tracing()


def test_nothing_is_said_where_nothing_is_held(capsys: pytest.CaptureFixture[str]) -> None:
    with holter.trace_memory(show=False) as grown:
        churn()
    assert [each for each in grown if each.held_bytes > 1 << 16] == []
    assert capsys.readouterr().err == ""


def test_what_native_code_holds_is_seen_where_memray_is_installed() -> None:
    pytest.importorskip("memray")
    with holter.trace_memory(show=False, native=True) as grown:
        held = [mmap.mmap(-1, 1 << 20) for _ in range(5)]
        mmap.mmap(-1, 1 << 24).close()
    for each in held:
        each.close()
    first = grown.lines[0]
    assert first.code.startswith("held = [mmap.mmap(-1, 1 << 20)")
    assert first.held_bytes >= 5 << 20
    assert not any(each.held_bytes >= 1 << 24 for each in grown)


def test_without_memray_it_is_said_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "memray", None)
    with pytest.raises(UsageError, match=r"trace_memory\(native=True\) needs memray: pip install memray"):
        holter.trace_memory(native=True)


def test_what_cannot_work_is_refused() -> None:
    with pytest.raises(UsageError, match="depth is a whole number from 1 to 100, got 0"):
        holter.trace_memory(depth=0)
    tracemalloc.start()
    try:
        with pytest.raises(UsageError, match="are traced already"), holter.trace_memory():
            pass
    finally:
        tracemalloc.stop()
