"""Guards of real programs: who died, who stands still, what is no number."""

import json
import os
import signal
from typing import Any

import pytest

from holter.catalog.catalog import Catalog
from holter.cli.main import main
from tests.e2e.programs import Program, data_directory, start, wait_until

WORKS = """
    import multiprocessing, threading, time, holter
    def work():
        time.sleep(300)
    run = holter.init()
    worker = multiprocessing.get_context("fork").Process(target=work, daemon=True)
    worker.start()
    lock = threading.Lock()
    lock.acquire()
    def steps():
        step = 0
        while True:
            run.log({"loss": float("nan") if step == 150 else 1.0})
            step += 1
            yield
            time.sleep(0.02)
    moving = steps()
    for _ in range(200):
        next(moving)
    print(worker.pid, flush=True)
"""


def shown(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    (row,) = Catalog(str(data_directory())).rows()
    capsys.readouterr()
    assert main(["show", row.id, "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def warnings(capsys: pytest.CaptureFixture[str], guard: str) -> list[dict[str, Any]]:
    return [each for each in shown(capsys)["warnings"] if each["guard"] == guard]


def first_line(program: Program) -> str:
    assert program.stdout is not None
    return program.stdout.readline()


def test_a_nan_and_a_killed_worker_are_told_while_the_run_lives(capsys: pytest.CaptureFixture[str]) -> None:
    with start(WORKS + "    for _ in moving: pass\n") as program:
        pid = int(first_line(program))
        wait_until(lambda: warnings(capsys, "divergence"), within_s=60)
        assert [each["text"] for each in warnings(capsys, "divergence")] == ["loss became NaN at step 150"]
        os.kill(pid, signal.SIGKILL)
        wait_until(lambda: warnings(capsys, "workers"), within_s=60)
        [told] = warnings(capsys, "workers")
        assert told["text"].startswith(f"worker {pid} ")
        assert "died, killed by SIGKILL" in told["text"]
        program.terminate()
        _, errors = program.communicate(timeout=60)
    assert errors.count("holter: loss became NaN at step 150") == 1
    assert errors.count("died, killed by SIGKILL") == 1
    wait_until(lambda: shown(capsys)["cost"] is not None, within_s=60)
    told = shown(capsys)
    assert 0 < told["cost"]["cpu_s"] < told["cost"]["wall_s"]
    assert {"host"} <= {each["memory"] for each in told["peaks"]}
    (row,) = Catalog(str(data_directory())).rows()
    assert main(["show", row.id]) == 0
    printed = capsys.readouterr().out
    assert "while steps were logged, at step" in printed
    assert "of one core beside the program" in printed


def test_a_program_that_was_stopped_is_told_and_has_that_cause(capsys: pytest.CaptureFixture[str]) -> None:
    with start(WORKS + "    for _ in moving: pass\n") as program:
        first_line(program)
        wait_until(lambda: warnings(capsys, "divergence"), within_s=60)
        os.kill(program.pid, signal.SIGSTOP)
        try:
            wait_until(lambda: warnings(capsys, "stall"), within_s=120)
            assert "it was stopped by a signal" in warnings(capsys, "stall")[0]["text"]
            (row,) = Catalog(str(data_directory())).rows()
            assert main(["why", row.id, "--json"]) == 0
            told = json.loads(capsys.readouterr().out)
            assert (told["state"], told["cause"]) == ("running", "stalled")
        finally:
            os.kill(program.pid, signal.SIGCONT)
            program.kill()
