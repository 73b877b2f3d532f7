"""Somebody asks in the web page that a command under `holter run` stops: it does where that was allowed."""

import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from tests.e2e.launches import RUN
from tests.e2e.programs import only_run, wait_until
from tests.e2e.servers import Served, ui

WAITS = "import time; print('ready', flush=True); time.sleep({})"
JOINS = """
import holter, time
run = holter.init()
interrupts = 0
print("ready", flush=True)
for _ in range(60):
    try:
        time.sleep(0.05)
    except KeyboardInterrupt:
        interrupts += 1
print("interrupts", interrupts)
"""


@pytest.fixture
def server() -> Iterator[Served]:
    with ui() as served:
        yield served


def launch(*words: str, before: tuple[str, ...] = ()) -> "subprocess.Popen[str]":
    program = subprocess.Popen([*before, *RUN, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert program.stdout is not None
    assert program.stdout.readline() == "ready\n"
    return program


def ask(server: Served) -> None:
    wait_until(lambda: server.get("/runs")["runs"])
    [run] = server.get("/runs")["runs"]
    assert server.post(f"/runs/{run['id']}/stop", {"reason": "enough"}) == {"asked": True}


def test_a_command_that_knows_nothing_of_holter_is_interrupted(server: Served) -> None:
    program = launch("--allow-stop", "--", sys.executable, "-c", WAITS.format(60))
    ask(server)
    _, errors = program.communicate(timeout=60)
    assert program.returncode == 128 + signal.SIGINT
    assert "KeyboardInterrupt" in errors
    assert errors.count("to stop: enough; interrupting the command") == 1
    wait_until(lambda: only_run().row.state != "running")
    assert only_run().row.state == "failed"


def test_what_a_shell_started_is_interrupted_as_by_ctrl_c(server: Served) -> None:
    script = f'{sys.executable} -c "{WAITS.format(60)}"; echo code $?; exit 5'
    program = launch("--allow-stop", "--", "bash", "-c", f"trap 'echo trapped' INT\n{script}")
    ask(server)
    out, _ = program.communicate(timeout=60)
    assert "trapped" in out
    assert "code 130" in out
    assert program.returncode == 5


def test_without_leave_it_goes_on_and_the_terminal_says_so(server: Served) -> None:
    program = launch("--", sys.executable, "-c", WAITS.format(4))
    ask(server)
    _, errors = program.communicate(timeout=60)
    assert program.returncode == 0
    assert "to stop: enough; it goes on, because --allow-stop was not given" in errors


def test_a_program_that_listens_itself_is_interrupted_once(server: Served) -> None:
    program = launch("--allow-stop", "--", sys.executable, "-c", JOINS)
    ask(server)
    out, errors = program.communicate(timeout=30)
    assert out.splitlines()[-1] == "interrupts 1", errors
    assert errors.count("; interrupting the ") == 1


def test_a_command_in_the_background_which_ignores_ctrl_c_is_terminated(server: Served) -> None:
    in_background = ("sh", "-c", 'trap "" INT; exec "$@"', "sh")
    program = launch("--allow-stop", "--", sys.executable, "-c", WAITS.format(60), before=in_background)
    ask(server)
    program.communicate(timeout=60)
    assert program.returncode == 128 + signal.SIGTERM


def test_what_keeps_a_run_from_being_sent_is_said_under_holter_run_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOLTER_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("HOLTER_API_KEY", "k")
    program = launch("--", sys.executable, "-c", WAITS.format(3))
    _, errors = program.communicate(timeout=60)
    assert errors.count("the run is not sent to http://127.0.0.1:9") == 1
