"""Habits of real programs, seen from inside of them: told once, under the guard `habits`."""

import json
from typing import Any

import pytest

from holter.catalog.catalog import Catalog
from holter.cli.main import main
from tests.e2e.programs import Program, data_directory, start, wait_until

COLLECTS = """
    import gc, time, holter
    held = [[] for _ in range(200_000)]
    run = holter.init()
    def step():
        gc.collect()
        run.log({"loss": 1.0})
        time.sleep(0.02)
    while True:
        step()
"""
ALLOCATES = """
    import gc, time, holter
    gc.set_threshold(10, 1, 1)
    run = holter.init()
    gc.freeze()
    def step():
        return [[] for _ in range(3000)]
    while True:
        step()
        run.log({"full": gc.get_stats()[2]["collections"]})
        time.sleep(0.01)
"""
REPLACES = """
    import time, holter
    run = holter.init()
    while True:
        run.log({"loss": 1.0}, commit=False)
        time.sleep(0.05)
"""
COMMITS = """
    import time, holter
    run = holter.init()
    while True:
        run.log({"loss": 1.0}, commit=False)
        run.log({"accuracy": 1.0})
        time.sleep(0.01)
"""


def shown(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    wait_until(lambda: Catalog(str(data_directory())).rows(), within_s=60)
    (row,) = Catalog(str(data_directory())).rows()
    capsys.readouterr()
    assert main(["show", row.id, "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def habits(capsys: pytest.CaptureFixture[str]) -> list[str]:
    return [each["text"] for each in shown(capsys)["warnings"] if each["guard"] == "habits"]


def rows(capsys: pytest.CaptureFixture[str]) -> int:
    return int(shown(capsys)["steps"])


def end(program: Program) -> str:
    program.terminate()
    return str(program.communicate(timeout=60)[1])


def test_garbage_that_is_collected_in_each_step_is_told_once_with_its_line_and_what_it_costs(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with start(COLLECTS) as program:
        wait_until(lambda: habits(capsys), within_s=60)
        known = rows(capsys)
        wait_until(lambda: rows(capsys) > known + 100, within_s=60)
        errors = end(program)
    [text] = habits(capsys)
    assert text.startswith("gc.collect() (")
    assert " in step()) is called in each step and takes " in text
    assert errors.count("holter: gc.collect() (") == 1


def test_garbage_that_python_itself_collects_is_no_habit(capsys: pytest.CaptureFixture[str]) -> None:
    with start(ALLOCATES) as program:
        wait_until(lambda: rows(capsys) > 600, within_s=120)
        full = shown(capsys)["summary"]["full"]
        end(program)
    assert full > 600
    assert habits(capsys) == []


def test_values_that_replace_each_other_are_told_once(capsys: pytest.CaptureFixture[str]) -> None:
    with start(REPLACES) as program:
        wait_until(lambda: habits(capsys), within_s=60)
        errors = end(program)
    [text] = habits(capsys)
    assert text.startswith("log(…, commit=False) wrote loss ")
    assert text.endswith(" times at step 0: each replaced the one before")
    assert errors.count("wrote loss") == 1


def test_a_step_that_is_logged_in_two_parts_is_no_habit(capsys: pytest.CaptureFixture[str]) -> None:
    with start(COMMITS) as program:
        wait_until(lambda: rows(capsys) > 300, within_s=120)
        end(program)
    assert habits(capsys) == []


def test_a_habit_is_silenced_like_any_guard(capsys: pytest.CaptureFixture[str]) -> None:
    with start(COLLECTS, HOLTER_SILENCE="habits") as program:
        wait_until(lambda: rows(capsys) > 150, within_s=120)
        errors = end(program)
    assert habits(capsys) == []
    assert "gc.collect()" not in errors
