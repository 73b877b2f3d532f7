"""`holter import` and `export --format tensorboard`, `holter run --tensorboard`, `init(sync_tensorboard=True)`."""

import io
import json
import signal
import subprocess
import sys
import types
from pathlib import Path

import pytest

import holter
from holter.api.recorded_runs import Api
from holter.cli.main import main
from holter.formats.event_writer import write_row
from holter.journal.writer import JournalWriter
from holter.launcher.event_rows import FollowedFolders
from holter.probes.identity import this_process
from holter.recording.attempt import Attempt
from holter.recording.identity import Identity
from holter.recording.settings import Settings
from holter.recording.voice import Voice
from holter.wandb_door.lookup import find
from tests.e2e.programs import only_run, wait_until
from tests.importing.taking_over import RECORDED, rows_of


def test_a_repeat_does_no_harm_and_again_makes_it_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HOLTER_DIR", str(tmp_path))
    path = str(RECORDED / "finished.wandb")
    told = []
    for more in ([], [], ["--again"]):
        assert main(["import", "wandb", path, "--json", *more]) == 0
        told += json.loads(capsys.readouterr().out)
    assert [each["state"] for each in told] == ["imported", "known", "imported"]
    assert len({each["run"] for each in told}) == 1
    assert told[0]["left_out"] == {"image-file in rows": 1}
    assert len(Api(directory=tmp_path).runs()) == 1
    assert list((tmp_path / "importing").iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["import", "wandb", "nowhere"], "there is no file or folder 'nowhere'"),
        (["import", "tensorboard", "."], "there are no event files below '.': their names contain `tfevents`"),
        (["export", "--format", "tensorboard"], "TensorBoard reads folders: name one with --output"),
    ],
)
def test_what_cannot_work_is_said(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    sentence: str,
) -> None:
    monkeypatch.setenv("HOLTER_DIR", str(tmp_path / "data"))
    monkeypatch.chdir(tmp_path)
    holter.init(mode="offline").finish()
    assert main(arguments) == 2
    assert capsys.readouterr().err.endswith(f"holter: {sentence}\n")


def test_what_is_exported_for_tensorboard_comes_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOLTER_DIR", str(tmp_path / "data"))
    with holter.init(mode="offline") as run:
        for step in range(3):
            run.log({"loss": step / 4, "note": f"step {step}"})
    assert main(["export", run.id, "--format", "tensorboard", "--output", str(tmp_path / "out")]) == 0
    assert main(["import", "tensorboard", str(tmp_path / "out")]) == 0
    (found,) = [each for each in Api(directory=tmp_path / "data").runs() if each.id != run.id]
    assert list(rows_of(found, "loss")) == [(0, 0.0), (1, 0.25), (2, 0.5)]
    assert found.summary["note"] == "step 2"


WRITES = """
import sys
from holter.formats.event_writer import write_row
from holter.wandb_door.lookup import find
with open(sys.argv[1] + "/events.out.tfevents.1.x", "wb") as out:
    for step in range(3):
        write_row(out, {"loss": step / 4}, step, 1e9)
"""


def test_a_command_that_writes_for_tensorboard_has_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOLTER_DIR", str(tmp_path / "data"))
    (tmp_path / "logs").mkdir()
    with open(tmp_path / "logs" / "events.out.tfevents.0.old", "wb") as out:
        write_row(out, {"loss": 5.0}, 100, 1e9)
    program = [sys.executable, "-c", WRITES, str(tmp_path / "logs")]
    holter_run = [sys.executable, "-m", "holter", "run", "--tensorboard", str(tmp_path / "logs"), "--"]
    subprocess.run([*holter_run, *program], check=True, capture_output=True)
    (run,) = Api(directory=tmp_path / "data").runs()
    assert list(rows_of(run, "loss")) == [(0, 0.0), (1, 0.25), (2, 0.5)]


def test_who_follows_the_files_leaves_the_end_of_the_command_to_be_heard_by_who_waits_for_it(tmp_path: Path) -> None:
    # A thread that does not block SIGCHLD may get it, and then `holter run` waits for ever.
    attempt = Attempt(Settings(dir=str(tmp_path)), this_process(), identity=Identity("r"), voice=Voice(silent=True))
    followed = FollowedFolders(attempt, [str(tmp_path)], say=lambda cause, text: True)
    try:
        status = Path(f"/proc/self/task/{followed._thread.native_id}/status").read_text()
    finally:
        followed.stop()
    blocked = int(next(line.split()[1] for line in status.splitlines() if line.startswith("SigBlk")), 16)
    assert blocked >> (signal.SIGCHLD - 1) & 1
    assert blocked >> (signal.SIGTERM - 1) & 1


class Written:
    """As protobuf's messages are asked for their bytes."""

    def __init__(self, step: int, value: float) -> None:
        out = io.BytesIO()
        write_row(out, {"loss": value}, step, 1e9)
        self._data = out.getvalue()[12:-4]

    def SerializeToString(self) -> bytes:  # noqa: N802  protobuf's name
        return self._data


class EventFileWriter:
    """As those of torch and tensorboardX are."""

    def __init__(self, logdir: str) -> None:
        self._logdir = logdir
        self.added = 0

    def get_logdir(self) -> str:
        return self._logdir

    def add_event(self, event: Written) -> None:
        self.added += 1


def test_what_a_summary_writer_is_given_is_a_row_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOLTER_DIR", str(tmp_path / "data"))
    module = types.ModuleType("tensorboardX.event_file_writer")
    module.EventFileWriter = EventFileWriter  # type: ignore[attr-defined]  # a stand-in
    monkeypatch.setitem(sys.modules, "tensorboardX.event_file_writer", module)
    run = holter.init(mode="offline", sync_tensorboard=True)
    root, below = EventFileWriter(str(tmp_path / "logs")), EventFileWriter(str(tmp_path / "logs" / "val"))
    root.add_event(Written(10, 0.5))
    below.add_event(Written(10, 0.25))
    assert (root.added, below.added) == (1, 1)
    run.finish()
    recorded = Api(directory=tmp_path / "data").run(run.id)
    assert list(rows_of(recorded, "loss")) == [(10, 0.5)]
    assert list(rows_of(recorded, "val/loss")) == [(10, 0.25)]


NATIVE = """
import os
from holter.formats.event_writer import write_row
class Writer:
    def __init__(self, logdir):
        os.makedirs(logdir, exist_ok=True)
        self.held, self.path = [], f"{logdir}/events.out.tfevents.1.host.{os.getpid()}.0.v2"
    def scalar(self, tag, value, step):
        self.held.append(({tag: value}, step))
    def flush(self):
        with open(self.path, "ab") as out:
            for row, step in self.held:
                write_row(out, row, step, 1e9)
        self.held = []
def create_file_writer_v2(logdir):
    return Writer(logdir)
"""
TRAINS = """
import os, signal, sys
import holter
run = holter.init(sync_tensorboard=True)
from tensorflow.python.ops.summary_ops_v2 import create_file_writer_v2 as create_file_writer
train, val = create_file_writer("logs"), create_file_writer("logs/val")
for step in range(3):
    train.scalar("loss", step / 4, step)
val.scalar("loss", 0.5, 2)
if sys.argv[1] == "dies":
    train.flush(), val.flush()
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize(("how", "state"), [("ends", "finished"), ("dies", "crashed")])
def test_what_writers_that_are_no_python_wrote_is_recorded_however_it_ends(
    how: str, state: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOLTER_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    package = tmp_path / "tensorflow" / "python" / "ops"
    package.mkdir(parents=True)
    (package / "summary_ops_v2.py").write_text(NATIVE)
    old = tmp_path / "logs" / "events.out.tfevents.0.host.1.0.v2"
    old.parent.mkdir()
    with old.open("wb") as out:
        write_row(out, {"loss": 5.0}, 100, 1e9)
    subprocess.run([sys.executable, "-c", TRAINS, how], cwd=tmp_path, capture_output=True, check=how == "ends")
    wait_until(lambda: only_run().row.rows == 4)  # the sidecar reads them, a moment after the end
    row = only_run().row
    assert row.state == state
    run = Api(directory=tmp_path / "data").run(row.id)
    assert list(rows_of(run, "loss")) == [(0, 0.0), (1, 0.25), (2, 0.5)]
    assert list(rows_of(run, "val/loss")) == [(2, 0.5)]


def test_wandb_s_own_way_to_follow_summary_writers_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOLTER_DIR", str(tmp_path / "data"))

    class Writer(EventFileWriter):
        def add_event(self, event: Written) -> None:
            self.added += 1

    module = types.ModuleType("tensorboardX.event_file_writer")
    module.EventFileWriter = Writer  # type: ignore[attr-defined]  # a stand-in
    monkeypatch.setitem(sys.modules, "tensorboardX.event_file_writer", module)
    run = holter.init(mode="offline")
    find("wandb.tensorboard", "patch")(root_logdir=str(tmp_path))
    Writer(str(tmp_path)).add_event(Written(3, 0.5))
    run.finish()
    assert list(rows_of(Api(directory=tmp_path / "data").run(run.id), "loss")) == [(3, 0.5)]


def test_what_was_imported_stays_where_the_new_one_cannot_be_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HOLTER_DIR", str(tmp_path))
    path = str(RECORDED / "finished.wandb")
    assert main(["import", "wandb", path]) == 0

    def full(journal: JournalWriter) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(JournalWriter, "sync", full)
    assert main(["import", "wandb", path, "--again"]) == 1
    assert "No space left" in capsys.readouterr().out
    assert len(Api(directory=tmp_path).runs()) == 1
