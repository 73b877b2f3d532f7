"""How long the shell waits for the words at the end of a command, and whose words they are."""

import signal
from pathlib import Path

import pytest

from holter.launcher.closing_words import GLANCE_S, PATIENCE_S, Ending, say_how_it_ended
from holter.model.record import Record
from holter.model.records import ChildExited, Exited
from holter.recording.voice import Voice
from holter.wire.way_back import HowItEnded
from tests.unit.catalog.journals import BEGAN_NS, Journal, dead, named


@pytest.fixture(autouse=True)
def no_scheduler(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SLURM_JOB_ID", "KUBERNETES_SERVICE_HOST", "PBS_JOBID", "LSB_JOBID"):
        monkeypatch.delenv(name, raising=False)


class Sidecar:
    """Says this, or nothing; notes how long it was waited for."""

    def __init__(self, word: HowItEnded | None = None) -> None:
        self.word = word
        self.waited: list[float] = []

    def told(self, within_s: float) -> HowItEnded | None:
        self.waited.append(within_s)
        return self.word


def say(directory: Path, status: int, *, sidecar: Sidecar, seen: tuple[Record, ...] = ()) -> None:
    launcher = Journal(directory, dead(), kind="launcher").say(named("otter"))
    launcher.say(Exited(at_ns=BEGAN_NS + 1, journal=launcher.id, pid=dead().pid, source="wait", status=status)).close()
    Journal(directory, dead(), kind="sidecar").say(*seen).close()
    ending = Ending(status=status, on_server=None, told=sidecar.told)
    say_how_it_ended(str(directory), Voice(silent=False, quiet=False), ending=ending)


def test_an_exit_code_speaks_for_itself(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sidecar = Sidecar()
    say(tmp_path / "r1", 3 << 8, sidecar=sidecar)
    assert sidecar.waited == [GLANCE_S]
    assert "(nonzero-exit)" in capsys.readouterr().err


def test_for_a_command_that_finished_nobody_waits(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sidecar = Sidecar()
    say(tmp_path / "r1", 0, sidecar=sidecar)
    assert sidecar.waited == []
    assert "otter finished after" in capsys.readouterr().err


@pytest.mark.parametrize("status", [signal.SIGKILL, (128 + 9) << 8], ids=["killed", "said by a shell"])
def test_of_a_signal_the_sidecar_tells(status: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    word = HowItEnded(
        name="otter", state="crashed", why="Its last word (killed)", advice="sleep", rows=3, duration_s=2.0
    )
    sidecar = Sidecar(word)
    say(tmp_path / "r1", int(status), sidecar=sidecar)
    assert sidecar.waited == [PATIENCE_S]
    told = capsys.readouterr().err
    assert "otter crashed after 2.0 s with 3 rows: Its last word (killed)" in told
    assert "what to do: sleep" in told


def test_where_it_is_gone_the_journals_do(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    say(tmp_path / "r1", int(signal.SIGKILL), sidecar=Sidecar())
    assert "(killed)" in capsys.readouterr().err


def test_for_a_child_that_a_signal_ended_it_is_waited_for_too(tmp_path: Path) -> None:
    child = ChildExited(at_ns=BEGAN_NS + 1, pid=77, source="zombie-stat", status=int(signal.SIGKILL))
    sidecar = Sidecar()
    say(tmp_path / "r1", 1 << 8, sidecar=sidecar, seen=(child,))
    assert sidecar.waited == [GLANCE_S, PATIENCE_S]


def test_a_word_from_before_the_exit_status_was_known_is_not_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    word = HowItEnded(name="otter", state="crashed", why="it is gone without a trace", has_status=False)
    say(tmp_path / "r1", int(signal.SIGKILL), sidecar=Sidecar(word))
    assert "(killed)" in capsys.readouterr().err
