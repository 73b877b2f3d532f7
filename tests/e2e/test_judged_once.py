"""What a death costs over all processes that take part: it is judged once, and whoever asks reads what was found."""

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from holter.model.records import Beat
from tests.e2e.launches import RUN
from tests.e2e.programs import Program, data_directory, said, wait_until
from tests.e2e.servers import Served, ui

HOLTER = [sys.executable, "-m", "holter"]
ONCE = {"read_digests": 1, "gather": 1, "diagnose": 1}
TRAINING = """
import os, time, holter
run = holter.init(project="p", name="killed")
for step in range(20):
    run.log({"loss": 1.0}, step=step)
print(run.id, os.getpid(), flush=True)
time.sleep(600)
"""


@pytest.fixture
def counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file in which all processes of the test note what they do."""
    place = tmp_path / "counted"
    place.touch()
    found = [str(Path(__file__).parent / "counting"), *filter(None, [os.environ.get("PYTHONPATH")])]
    monkeypatch.setenv("COUNTED_IN", str(place))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(found))
    return place


def counts(place: Path) -> dict[str, int]:
    return dict(Counter(line.split()[0] for line in place.read_text().splitlines()))


def holter(*arguments: str) -> str:
    return subprocess.run([*HOLTER, *arguments], capture_output=True, text=True, check=True, timeout=60).stdout


def beats(directory: str) -> list[Beat]:
    return [each for each in said(directory, Beat, "sidecar") if isinstance(each, Beat)]


def kill_when_known(program: Program, server: Served, *, counted: Path, watches: int) -> str:
    """Kill it once everybody who watches it has settled down; returns which run that was, once its cause is told."""
    assert program.stdout is not None
    run, pid = program.stdout.readline().split()
    directory = str(data_directory() / "runs" / run)
    wait_until(lambda: any(beat.pids.count(int(pid)) == watches for beat in beats(directory)))
    wait_until(lambda: any(each["rows"] == 20 for each in server.get("/runs")["runs"]))
    counted.write_text("")
    os.kill(int(pid), signal.SIGKILL)
    wait_until(lambda: any(each["cause"] for each in server.get("/runs")["runs"]))
    return run


@pytest.mark.parametrize("launcher", [[], [*RUN, "--"]], ids=["alone", "under holter run"])
def test_a_killed_run_is_loaded_gathered_and_diagnosed_once(counted: Path, launcher: list[str]) -> None:
    command = [*launcher, sys.executable, "-c", TRAINING]
    with ui() as server, Program(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as program:
        run = kill_when_known(program, server, counted=counted, watches=2 if launcher else 1)
        _, words = program.communicate(timeout=60)
        told = server.get(f"/runs/{run}/verdict")
        assert (told["state"], told["cause"]) == ("crashed", "killed")
        assert ("(killed)" in words) == bool(launcher)
        assert counts(counted) == ONCE, counted.read_text()

        # Whoever shows the run reads its journals, and judges nothing.
        assert json.loads(holter("why", "--json", run)) == server.get(f"/runs/{run}/verdict") == told
        assert told["title"].rstrip(".") in holter("show", run)
        assert json.loads(holter("ls", "--json"))["runs"][0]["cause"] == "killed"
        assert server.get(f"/runs/{run}")["cause"] == "killed"
        assert counts(counted) == ONCE | {"read_digests": 5}, counted.read_text()
