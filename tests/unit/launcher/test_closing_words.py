"""How long the shell waits for the words at the end of a command."""

import signal
import time
from pathlib import Path

import pytest

from holter.catalog.read.run_view import load_run
from holter.launcher.closing_words import GLANCE_S, PATIENCE_S, patience_s
from holter.model.records import ChildExited, Exited, Record
from holter.model.state import Lateness
from tests.unit.catalog.journals import BEGAN_NS, Journal, dead, named


@pytest.fixture(autouse=True)
def no_scheduler(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SLURM_JOB_ID", "KUBERNETES_SERVICE_HOST", "PBS_JOBID", "LSB_JOBID"):
        monkeypatch.delenv(name, raising=False)


def patience(directory: Path, status: int, *sidecar: Record) -> float:
    launcher = Journal(directory, dead(), kind="launcher").say(named("otter"))
    launcher.say(Exited(at_ns=BEGAN_NS + 1, journal=launcher.id, pid=dead().pid, source="wait", status=status)).close()
    Journal(directory, dead(), kind="sidecar").say(*sidecar).close()
    loaded = load_run(str(directory), now_ns=time.time_ns(), lateness=Lateness())
    assert loaded is not None
    return patience_s(loaded)


def test_an_exit_code_speaks_for_itself_once_the_sidecar_has_seen_it(tmp_path: Path) -> None:
    seen = Exited(at_ns=BEGAN_NS + 2, journal="", pid=dead().pid, source="zombie-stat", status=3 << 8)

    assert patience(tmp_path / "r1", 3 << 8, seen) == 0.0
    assert patience(tmp_path / "r2", 3 << 8) == GLANCE_S


@pytest.mark.parametrize("status", [signal.SIGKILL, (128 + 9) << 8], ids=["killed", "said by a shell"])
def test_for_a_signal_others_are_asked(status: int, tmp_path: Path) -> None:
    assert patience(tmp_path / "r1", int(status)) == PATIENCE_S


def test_for_a_child_that_a_signal_ended_others_are_asked(tmp_path: Path) -> None:
    child = ChildExited(at_ns=BEGAN_NS + 1, pid=77, source="zombie-stat", status=int(signal.SIGKILL))

    assert patience(tmp_path / "r1", 1 << 8, child) == PATIENCE_S
