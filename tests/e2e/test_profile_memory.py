"""`@holter.profile_memory` and `run.variables()` in scripts; the lines blamed are those of memory_profiler."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e import programs
from tests.e2e.programs import only_run

MIB = 1 << 20

# A comment names the lines that are to be blamed: those that take more than 4 MiB.
FUNCTIONS = """
import numpy

def straight():
    small = numpy.ones(100)
    first = numpy.ones(2_000_000)  # blamed
    total = first.sum()
    second = numpy.ones(1_000_000)  # blamed
    return total + second.sum() + small.sum()

def looping():
    kept = []
    for number in range(5):
        kept.append(numpy.ones(1_000_000))  # blamed
    return len(kept)

def comprehending():
    kept = [numpy.ones(500_000) for _ in range(10)]  # blamed
    count = sum(len(each) for each in kept)
    return count

def deleting():
    first = numpy.ones(3_000_000)  # blamed
    del first
    second = numpy.ones(3_000_000)  # blamed
    return second.sum()

def calling():
    def inner(size):
        made = numpy.ones(size)  # blamed
        return made
    kept = inner(2_000_000)
    return kept.sum()

def failing():
    held = numpy.ones(2_000_000)  # blamed
    try:
        int("x")
    except ValueError:
        more = numpy.ones(2_000_000)  # blamed
    return held.sum() + more.sum()
"""
NAMES = "straight looping comprehending deleting calling failing".split()

DRIVER = """
import json, sys
import functions
function = getattr(functions, sys.argv[2])
if sys.argv[1] == "holter":
    import holter
    profiled = holter.profile_memory(show=False)(function)
    profiled()
    found = [line for line, each in profiled.memory_profile.lines.items() if each.increment_bytes > 4 * 2**20]
else:
    import memory_profiler
    profiler = memory_profiler.LineProfiler()
    profiler(function)()
    [(_, lines)] = profiler.code_map.items()
    start = function.__code__.co_firstlineno  # there it shows all that the process has
    found = [line for line, each in lines if each and each[0] > 4 and line > start]
print(json.dumps(sorted(found)))
"""


@pytest.mark.parametrize("name", NAMES)
def test_the_lines_blamed_are_those_of_memory_profiler(name: str, tmp_path: Path) -> None:
    (tmp_path / "functions.py").write_text(FUNCTIONS)
    blamed = {way: blame(way, name, tmp_path) for way in ("holter", "memory_profiler")}
    assert blamed["holter"] == blamed["memory_profiler"] == expected_lines(name)


def expected_lines(name: str) -> list[int]:
    lines = FUNCTIONS.splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith(f"def {name}("))
    end = next((number for number in range(start + 1, len(lines)) if lines[number].startswith("def ")), len(lines))
    return [number + 1 for number in range(start, end) if lines[number].endswith("# blamed")]


def blame(way: str, name: str, directory: Path) -> list[int]:
    done = subprocess.run(
        [sys.executable, "-c", DRIVER, way, name],
        cwd=directory,
        env={**os.environ, "PYTHONPATH": str(directory)},
        capture_output=True,
        text=True,
        check=True,
    )
    lines: list[int] = json.loads(done.stdout.splitlines()[-1])
    return lines


def test_a_script_prints_its_table_and_the_run_keeps_it() -> None:
    done = programs.run(
        """
        import sys
        import holter

        @holter.profile_memory
        def train(steps):
            held = bytearray(steps << 20)
            return len(held)

        run = holter.init(project="memory")
        train(20)
        train(10)
        """
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
    assert done.stderr.count("Line Contents") == 2
    kept = Path(only_run().row.directory, "files", "memory", "train.txt").read_text()
    assert "train, 2 calls" in kept
    assert kept in done.stderr


def test_an_error_leaves_the_function_as_it_was() -> None:
    done = programs.run(
        """
        import holter

        @holter.profile_memory
        def train():
            held = bytearray(1 << 20)
            raise KeyError("lost")

        train()
        """
    )
    assert done.returncode == 1
    assert "KeyError: 'lost'\n" in done.stderr
    assert done.stderr.count("Line Contents") == 1


def test_a_script_sees_the_names_of_the_function_that_asks() -> None:
    done = programs.run(
        """
        import json, sys
        import holter

        TABLE = bytes(3 << 20)

        def main():
            run = holter.init(project="memory")
            batch = bytearray(8 << 20)
            view = memoryview(batch)
            found = run.variables()
            print(json.dumps([(each.name, each.size_bytes >> 20, each.frees) for each in found][:2]))
            run.finish()

        main()
        """
    )
    assert json.loads(done.stdout) == [["batch", 8, "del batch, view"], ["TABLE", 3, "del TABLE"]]
