"""`holter run -- CMD` and a command that is stopped: a shell sees it stop, go on and die as it would without us."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.commands import bash
from tests.e2e.launches import QUIET, UNDER_HOLTER
from tests.e2e.programs import only_run, wait_until
from tests.e2e.terminals import Terminal

PATH = f"{Path(sys.executable).parent}:{os.environ['PATH']}"


@pytest.mark.parametrize("prefix", ["", "holter run -- "], ids=["without", "with"])
def test_ctrl_z_stops_the_job_and_fg_continues_it(prefix: str, tmp_path: Path) -> None:
    script = tmp_path / "ticks"
    script.write_text("#!/bin/bash\necho ready\nfor i in {1..400}; do sleep 0.01; done\necho over\nexit 3\n")
    script.chmod(0o755)
    with interactive_shell() as terminal:
        terminal.type(f"{prefix}{script}\n".encode())
        terminal.await_text(b"ready")
        terminal.type(b"\x1a")
        terminal.await_text(b"Stopped")
        time.sleep(0.3)
        processes = subprocess.run(["pgrep", "-f", str(script)], capture_output=True, text=True, check=True).stdout
        states = {Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] for pid in processes.split()}
        terminal.type(b"jobs; echo in shell\n")
        terminal.await_text(b"\nin shell")
        terminal.type(b"fg\n")
        terminal.await_text(b"over")
        terminal.type(b"echo code $?\n")
        terminal.await_text(b"code 3")
        terminal.type(b"exit\n")
        terminal.wait()
    assert "T" in states
    assert states <= {"T", "S"} if prefix else states == {"T"}  # the sidecar's command line names the script too


@pytest.mark.parametrize("prefix", ["", "holter run -- "], ids=["without", "with"])
@pytest.mark.parametrize("redirection", ["", " > out 2>&1"], ids=["shown", "in a file"])
def test_a_job_that_is_stopped_and_killed_is_reported_by_its_shell(
    redirection: str, prefix: str, tmp_path: Path
) -> None:
    script = tmp_path / "waits"
    script.write_text("#!/bin/bash\necho $$ > pid\nsleep 1000 & wait\n")
    script.chmod(0o755)
    with interactive_shell() as terminal:
        terminal.type(f"cd {tmp_path}; {prefix}{script}{redirection}\n".encode())
        wait_until(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text())
        pid = int((tmp_path / "pid").read_text())
        terminal.type(b"\x1a")
        terminal.await_text(b"Stopped")
        os.kill(pid, signal.SIGKILL)
        wait_until(lambda: not Path(f"/proc/{pid}").exists())
        terminal.type(b"jobs; wait %1; echo code $?\n")
        terminal.await_text(b"code 137")
        terminal.type(b"exit\n")
        terminal.wait()


def test_bg_continues_a_stopped_job_behind_the_shell(tmp_path: Path) -> None:
    script = tmp_path / "ticks"
    script.write_text("#!/bin/bash\necho ready\nfor i in {1..200}; do sleep 0.01; done\necho over\nexit 3\n")
    script.chmod(0o755)
    with interactive_shell() as terminal:
        terminal.type(f"holter run -- {script}\n".encode())
        terminal.await_text(b"ready")
        terminal.type(b"\x1a")
        terminal.await_text(b"Stopped")
        terminal.type(b"bg; wait %1; echo code $?\n")
        terminal.await_text(b"code 3")
        terminal.type(b"exit\n")
        terminal.wait()
    assert b"over" in terminal.shown


def test_on_a_terminal_a_command_that_is_continued_by_itself_takes_its_launcher_along(tmp_path: Path) -> None:
    with Terminal([*UNDER_HOLTER, *ticks(tmp_path / "pid")]) as terminal:
        pid = started(tmp_path / "pid")
        os.kill(pid, signal.SIGSTOP)
        wait_until(lambda: state_of(terminal.pid) == "T")
        os.kill(pid, signal.SIGCONT)
        assert terminal.wait() == 3
    assert b"over" in terminal.shown


@pytest.mark.parametrize("target", [subprocess.PIPE, subprocess.DEVNULL], ids=["in a pipe", "nowhere"])
def test_without_a_terminal_a_command_may_be_stopped_and_killed(target: int, tmp_path: Path) -> None:
    with launched(ticks(tmp_path / "pid"), target) as launcher:
        pid = started(tmp_path / "pid")
        os.kill(pid, signal.SIGSTOP)
        wait_until(lambda: state_of(pid) == "T")
        time.sleep(0.3)
        assert state_of(launcher.pid) == "S"
        os.kill(pid, signal.SIGKILL)
        assert launcher.wait(60) == 137
    assert only_run().row.state == "crashed"


def test_without_a_terminal_a_command_may_be_stopped_and_continued(tmp_path: Path) -> None:
    with launched(ticks(tmp_path / "pid"), subprocess.PIPE) as launcher:
        pid = started(tmp_path / "pid")
        os.kill(pid, signal.SIGSTOP)
        wait_until(lambda: state_of(pid) == "T")
        os.kill(pid, signal.SIGCONT)
        assert launcher.communicate(timeout=60)[0] == b"over\n"
    assert launcher.returncode == 3


def test_a_launcher_without_a_sidecar_is_continued_as_well(tmp_path: Path) -> None:
    with Terminal([*UNDER_HOLTER, *ticks(tmp_path / "pid")], HOLTER_WITHOUT="sidecar") as terminal:
        pid = started(tmp_path / "pid")
        os.kill(pid, signal.SIGSTOP)
        wait_until(lambda: state_of(terminal.pid) == "T")
        os.kill(pid, signal.SIGKILL)
        assert terminal.wait() == 137


def ticks(pid: Path) -> list[str]:
    return [*bash(f"echo $$ > {pid}; for i in {{1..60}}; do sleep 0.02; done; echo over; exit 3")]


def started(pid: Path) -> int:
    wait_until(lambda: pid.exists() and pid.read_text().strip())
    return int(pid.read_text())


def state_of(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


@contextlib.contextmanager
def interactive_shell() -> Iterator[Terminal]:
    with Terminal(["bash", "--norc", "--noediting", "-i"], PATH=PATH, PS1="$ ", HISTFILE="") as terminal:
        terminal.await_text(b"$ ")
        yield terminal


@contextlib.contextmanager
def launched(command: list[str], target: int) -> Iterator[subprocess.Popen[bytes]]:
    """Without any terminal, whoever runs the tests."""
    with subprocess.Popen(
        [*UNDER_HOLTER, *command], stdout=target, env={**os.environ, **QUIET}, start_new_session=True
    ) as launcher:
        yield launcher
