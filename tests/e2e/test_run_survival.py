"""Kills and stops `holter run` and its sidecar while ten programs run: each must end as it would have."""

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.e2e.commands import bash, python
from tests.e2e.launches import QUIET, UNDER_HOLTER
from tests.e2e.programs import sidecars, wait_until
from tests.e2e.survivors import PROGRAMS, ten_programs

pipe_and_terminal = pytest.mark.parametrize("on_terminal", [False, True], ids=["pipe", "terminal"])


def test_ten_programs_are_struck() -> None:
    assert len(PROGRAMS) == 10


@pipe_and_terminal
def test_a_killed_launcher_leaves_its_program_as_it_was(on_terminal: bool, tmp_path: Path) -> None:
    with ten_programs(tmp_path / "runs", on_terminal=on_terminal) as scene:
        scene.strike("launcher", signal.SIGKILL)
        scene.go_on()
        assert scene.await_ends() == []
        assert scene.await_output(repeats=1) == []
        assert scene.await_departures() == []


@pipe_and_terminal
def test_a_stopped_launcher_leaves_its_program_as_it_was(on_terminal: bool, tmp_path: Path) -> None:
    with ten_programs(tmp_path / "runs", on_terminal=on_terminal) as scene:
        scene.strike("launcher", signal.SIGSTOP)
        scene.go_on()
        assert scene.await_ends() == []
        # Stopped in the middle of handing on a piece, it has the last few bytes until it is continued.
        scene.strike("launcher", signal.SIGCONT)
        assert scene.await_output(repeats=1) == []
        assert scene.await_departures() == []


@pipe_and_terminal
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP], ids=["killed", "stopped"])
def test_a_sidecar_that_cannot_go_on_leaves_its_program_as_it_was(
    number: signal.Signals, on_terminal: bool, tmp_path: Path
) -> None:
    with ten_programs(tmp_path / "runs", on_terminal=on_terminal) as scene:
        scene.strike("sidecar", number)
        scene.go_on()
        assert scene.await_ends() == []
        assert scene.await_output() == []
        assert scene.await_departures() == []


@pipe_and_terminal
def test_a_launcher_that_is_stopped_and_continued_again_and_again_loses_nothing(
    on_terminal: bool, tmp_path: Path
) -> None:
    with ten_programs(tmp_path / "runs", on_terminal=on_terminal) as scene:
        for _ in range(3):
            scene.strike("launcher", signal.SIGSTOP)
            time.sleep(0.35)  # the sidecar looks five times a second
            scene.strike("launcher", signal.SIGCONT)
            time.sleep(0.1)
        scene.go_on()
        assert scene.await_ends() == []
        assert scene.await_output(repeats=3) == []
        assert scene.await_departures() == []


# A launcher with a defect in its middle.
FAILS = """
import sys
from holter.console import pump
from holter.launcher.launching import launch
moves = 0
real = pump.Flow.pull
def pull(flow):
    global moves
    moves += 1
    if moves > 5: raise RuntimeError("a defect")
    return real(flow)
pump.Flow.pull = pull
sys.exit(launch(sys.argv[1:], {}, {}))
"""


def test_a_failure_of_ours_leaves_the_output_to_the_sidecar() -> None:
    prints = python(
        "import time\nfor i in range(100): print('line', i, flush=True); time.sleep(0.01)\nraise SystemExit(3)"
    )
    command = [*python(FAILS), *prints]
    done = subprocess.run(command, capture_output=True, env={**os.environ, **QUIET}, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (3, "".join(f"line {i}\n" for i in range(100)).encode())


@pytest.mark.parametrize("found", ["runs", "runs/*/sidecar-*.lock"], ids=["while it started", "later"])
def test_a_secret_does_not_stay_on_the_disk_when_the_sidecar_was_killed(tmp_path: Path, found: str) -> None:
    prints = bash('while [ ! -e "$GO" ]; do sleep 0.02; done; echo password=secret')
    environ = {**os.environ, **QUIET, "GO": str(tmp_path / "go")}
    directory = os.environ["HOLTER_DIR"]
    with subprocess.Popen([*UNDER_HOLTER, *prints], stdout=subprocess.PIPE, env=environ) as launcher:
        wait_until(lambda: sidecars(directory) and list(Path(directory).glob(found)), within_s=60)
        os.kill(sidecars(directory)[0], signal.SIGKILL)
        (tmp_path / "go").touch()
        out, _ = launcher.communicate(timeout=30)
    assert out == b"password=secret\n"
    (log,) = Path(directory).glob("runs/*/output.log")
    assert log.read_bytes() == b"password=******\n"
