"""What a program does when a guard says that its memory is about to be gone."""

import json
from collections.abc import Iterator

import pytest

from holter.cli.main import main
from tests.e2e.programs import only_run, run, start
from tests.zoo import cgroups

PRESSED = """
    import threading, time, holter
    from holter.client import active
    from holter.wire.way_back import Warn
    def press():
        warn = Warn(run=run.id, guard="memory-forecast", text="memory will reach its limit", is_pressing=True)
        threading.Thread(target=active._link._understand, args=(warn,)).start()
    def wait(until):
        end = time.monotonic() + 60
        while not until() and time.monotonic() < end:
            time.sleep(0.01)
"""


def test_the_users_function_is_called_in_the_main_thread_when_the_program_logs() -> None:
    done = run(
        PRESSED
        + """
    saved = []
    @holter.on_pressure
    def save():
        saved.append(threading.current_thread() is threading.main_thread())
    run = holter.init()
    press()
    for _ in range(1200):
        run.log({"loss": 1.0})
        time.sleep(0.05)
        if saved:
            break
    print(saved, run.should_stop)
    """
    )
    assert done.stdout == "[True] True\n", done.stderr
    assert "save() was called because memory is about to be gone" in done.stderr


def test_it_is_called_between_two_lines_where_nobody_logs_and_its_failure_ends_nothing() -> None:
    done = run(
        PRESSED
        + """
    saved = []
    def save():
        saved.append(threading.current_thread() is threading.main_thread())
        raise ValueError("no room")
    holter.on_pressure(save)
    run = holter.init()
    press()
    wait(lambda: saved)
    print(saved)
    """
    )
    assert done.stdout == "[True]\n", done.stderr
    assert "and failed: ValueError: no room" in done.stderr


def test_who_asked_for_it_is_interrupted_and_dies_of_memory_pressure() -> None:
    done = run(
        PRESSED
        + """
    run = holter.init(guard="interrupt")
    press()
    wait(lambda: False)
    """
    )
    assert done.returncode != 0
    assert "MemoryPressure" in done.stderr
    loaded = only_run()
    assert (loaded.row.state, loaded.row.cause) == ("failed", "memory-pressure")


def test_nobody_is_interrupted_while_something_is_saved_and_variables_stay() -> None:
    done = run(
        PRESSED
        + """
    def save():
        press()
        end = time.monotonic() + 1
        while time.monotonic() < end:
            time.sleep(0.01)
        return "whole"
    held = [1, 2, 3]
    run = holter.init(guard="interrupt")
    try:
        found = save()
        wait(lambda: False)
    except KeyboardInterrupt as error:
        print(type(error).__name__, found, held)
    """
    )
    assert done.stdout == "MemoryPressure whole [1, 2, 3]\n", done.stderr


def test_a_training_that_one_of_our_wrappers_calls_is_interrupted_as_any_other() -> None:
    done = run(
        PRESSED
        + """
    run = holter.init(guard="interrupt")
    @holter.retry_smaller
    def train(batch_size):
        press()
        wait(lambda: False)
    try:
        train(8)
    except KeyboardInterrupt as error:
        print(type(error).__name__)
    """
    )
    assert done.stdout == "MemoryPressure\n", done.stderr


def test_who_did_not_ask_goes_on() -> None:
    done = run(
        PRESSED
        + """
    run = holter.init()
    press()
    wait(lambda: run.should_stop)
    print("well")
    """
    )
    assert (done.returncode, done.stdout) == (0, "well\n"), done.stderr


LEAK = """
    import time, holter
    run = holter.init()
    held = []
    while not run.should_stop:
        held.append(bytearray(b"x") * (1 << 20))
        run.log({"held": len(held)})
        time.sleep(0.1)
    print("left", flush=True)
"""


@pytest.fixture
def group() -> Iterator[cgroups.Cgroup]:
    made = cgroups.make_cgroup("memory")
    made.limit_memory(420 << 20)
    yield made
    made.remove()


def test_a_leaking_program_in_a_small_cgroup_is_warned_once_and_leaves_in_time(
    group: cgroups.Cgroup, capsys: pytest.CaptureFixture[str]
) -> None:
    with start(LEAK) as program:
        group.procs.write_text(str(program.pid))
        out, errors = program.communicate(timeout=200)
    assert (program.returncode, out) == (0, "left\n"), errors
    assert errors.count("memory will reach its 420 MiB limit in about") == 1
    assert main(["show", only_run().row.id, "--json"]) == 0
    warnings = json.loads(capsys.readouterr().out)["warnings"]
    assert {each["guard"] for each in warnings} == {"memory-forecast"}
    assert set(warnings[0]) == {"guard", "at", "text", "eta_s", "advice"}


def test_what_grows_is_named_below_the_warning_and_kept_with_the_run(capsys: pytest.CaptureFixture[str]) -> None:
    done = run(
        PRESSED
        + """
    from holter.memory import growing
    growing.BETWEEN_S = 0.5
    run = holter.init()
    def say():
        warn = Warn(run=run.id, guard="memory-forecast", subject="cgroup/0", text="memory will reach its limit")
        active._link._understand(warn)
    def train():
        outputs = []
        threading.Thread(target=say).start()
        end = time.monotonic() + 60
        while time.monotonic() < end:
            outputs.append(bytearray(1 << 18))
            time.sleep(0.02)
            if not any(each.name == "holter-growth" for each in threading.enumerate()) and len(outputs) > 20:
                break
    train()
    """
    )
    assert done.stderr.count("largest growth: list 'outputs' in train() (") == 1, done.stderr
    assert main(["show", only_run().row.id, "--json"]) == 0
    [told] = json.loads(capsys.readouterr().out)["warnings"]
    assert told["guard"] == "memory-forecast"
    assert told["text"].startswith("largest growth: list 'outputs' in train() (")
