"""Going back to an earlier step of a run, and forking one: what is abandoned stays, and counts no more anywhere."""

import json
import os
import pickle
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import holter
from holter.api.recorded_runs import Api
from holter.catalog.catalog import Catalog
from holter.catalog.read.loaded_run import LoadedRun
from holter.cli.main import main
from holter.errors import UsageError
from holter.model.clock import Clock
from holter.model.state import Lateness
from holter.server.domain.checking import Check
from holter.server.ingest.ingest import Ingest
from holter.server.query.resumes import find_resumes
from holter.storage.forking import ForkedSeries
from holter.storage.opening import Storage, open_storage
from holter.storage.series import Line, SeriesReader, Window
from tests.e2e.programs import start


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "torch", None)


@pytest.fixture
def storage(tmp_path: Path) -> Iterator[Storage]:
    opened = open_storage(f"sqlite:{tmp_path / 'index'}")
    yield opened
    opened.close()


def data() -> str:
    return os.environ["HOLTER_DIR"]


def begin(**arguments: object) -> holter.Run:
    return holter.init(project="p", mode="offline", **arguments)  # type: ignore[arg-type]  # any of them


def record(steps: range, factor: float = 1.0, **arguments: object) -> None:
    """Losses of so many times the step; what comes late has a key of its own."""
    with begin(**arguments) as run:
        run.define_metric("low", summary="min")
        for step in steps:
            late = {"late": 1.0} if step > 250 else {}
            run.log({"loss": factor * step, "low": -factor * step, **late}, step=step)


def load(run: str) -> LoadedRun:
    return Catalog(data()).load(run)


def exported(run: str, capsys: pytest.CaptureFixture[str]) -> dict[int, float]:
    capsys.readouterr()
    assert main(["export", run]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    return {row["_step"]: row["loss"] for row in rows}


def history(run: str) -> dict[int, float]:
    return {row["_step"]: row["loss"] for row in Api(directory=data()).run(run).scan_history(keys=["loss"])}


def drawn(series: SeriesReader, run: str) -> dict[int, float]:
    points = series.points(Line(run, "loss"))
    [buckets] = series.buckets([Line(run, "loss")], Window(10_000))
    assert buckets.first.tolist() == points.steps.tolist()
    assert buckets.final.tolist() == points.values.tolist()
    return dict(zip(points.steps.tolist(), points.values.tolist(), strict=True))


def test_what_comes_behind_the_step_is_kept_and_counts_nowhere(
    capsys: pytest.CaptureFixture[str], storage: Storage
) -> None:
    record(range(300), id="r")
    ingest = Ingest(data(), storage, clock=Clock())
    ingest.catch_up()
    assert max(drawn(storage.series, "r")) == 299
    with begin(resume_from="r?_step=100") as run:
        assert (run.step, run.attempt, dict(run.summary)) == (101, 2, {"loss": 100.0, "low.min": -100.0})
        run.log({"loss": -1.0, "low": 5.0}, step=103)
    wanted = {**{step: float(step) for step in range(101)}, 103: -1.0}
    row = load("r").row
    assert (row.steps, row.last_step, row.summary) == (104, 103, {"loss": -1.0, "low.min": -100.0})
    assert row.rewinds == {2: 100}
    assert exported("r", capsys) == history("r") == wanted
    ingest.catch_up()
    assert drawn(storage.series, "r") == wanted
    indexed = storage.runs.get("r")
    assert indexed is not None
    assert (indexed.summary, indexed.steps) == (row.summary, 104)
    assert "late" not in {info.key for info in storage.series.list_series("r")}
    [resume] = find_resumes(row.directory)
    assert (resume.step, resume.steps_lost, resume.is_rewind) == (100, 199, True)
    assert resume.lost["loss"].steps[-1] == 299


def test_an_index_that_is_begun_anew_and_its_check_see_the_same(storage: Storage) -> None:
    record(range(300), id="r")
    record(range(101, 150), -1.0, resume_from="r?_step=100")
    record(range(51, 60), 2.0, resume_from="r?_step=50")
    wanted = {**{step: float(step) for step in range(51)}, **{step: 2.0 * step for step in range(51, 60)}}
    for _ in range(2):  # a server that ends, and comes back
        ingest = Ingest(data(), storage, clock=Clock())
        ingest.catch_up()
        ingest.close()
        assert drawn(storage.series, "r") == wanted
    assert list(Check(data(), storage, lateness=Lateness()).run_all()) == []
    assert load("r").row.rewinds == {2: 100, 3: 50}


def test_a_run_that_goes_on_after_it_went_back_goes_on_from_there() -> None:
    record(range(300), id="r")
    record(range(101, 103), resume_from="r?_step=100")
    with begin(id="r", resume="must") as run:
        assert run.step == 103
        assert "late" not in run.summary


def test_a_fork_begins_with_the_history_of_the_other(capsys: pytest.CaptureFixture[str], storage: Storage) -> None:
    record(range(300), id="r", config={"lr": 0.1})
    with holter.init(fork_from="r?_step=100", id="f", mode="offline") as run:
        assert (run.step, dict(run.summary), run.project) == (101, {"loss": 100.0, "low.min": -100.0}, "p")
        assert dict(run.config) == {"lr": 0.1}
        run.log({"loss": -5.0})
    with begin(fork_from="f?_step=60", id="g") as run:
        run.log({"loss": -6.0})
    of_f = {**{step: float(step) for step in range(101)}, 101: -5.0}
    of_g = {**{step: float(step) for step in range(61)}, 61: -6.0}
    assert exported("f", capsys) == history("f") == of_f
    assert exported("g", capsys) == history("g") == of_g
    assert load("r").row.steps == 300
    ingest = Ingest(data(), storage, clock=Clock())
    ingest.catch_up()
    series = ForkedSeries(storage.series, storage.runs.get)
    assert (drawn(series, "f"), drawn(series, "g")) == (of_f, of_g)
    assert len(storage.series.points(Line("f", "loss")).steps) == 1  # by reference
    assert {info.key: info.points for info in series.list_series("g")}["loss"] == 62
    assert series.count_keys(["f", "g", "r"])["low"] == 3
    by_time = series.buckets([Line("f", "loss")], Window(1000, "time"))[0]
    assert by_time.final.tolist() == list(of_f.values())


def test_a_fork_of_another_project_reads_nothing_there(storage: Storage) -> None:
    with holter.init(project="secret", id="r", mode="offline") as run:
        run.log({"loss": 1.0})
    with begin(fork_from="r?_step=0", id="f") as run:
        run.log({"loss": 2.0})
    ingest = Ingest(data(), storage, clock=Clock())
    ingest.catch_up()
    assert drawn(ForkedSeries(storage.series, storage.runs.get), "f") == {1: 2.0}


def test_a_checkpoint_behind_the_step_is_not_gone_on_from() -> None:
    with begin(id="r") as run:
        for step in (100, 200):
            run.log({"loss": 1.0}, step=step)
            run.checkpoint({"step": step}, step, artifact=False)
    with begin(fork_from="r?_step=150") as run:
        assert checkpoint_step() == 100
    with begin(resume_from="r?_step=150") as run:
        assert checkpoint_step() == 100
        run.checkpoint({"step": 170}, 170, artifact=False)
        assert checkpoint_step() == 170


def checkpoint_step() -> int:
    last = holter.resume()
    assert last is not None
    with open(last.path, "rb") as file:
        assert pickle.load(file) == {"step": last.step}
    assert last.step is not None
    return last.step


def test_a_command_that_is_started_again_goes_on_where_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    record(range(300), id="r")
    record(range(101, 150), resume_from="r?_step=100")
    monkeypatch.setenv("HOLTER_ATTEMPT", "2")
    with begin(resume_from="r?_step=100") as run:
        assert (run.step, run.attempt) == (150, 3)
    assert load("r").row.rewinds == {2: 100}
    with begin(fork_from="r?_step=10", id="f") as run:
        run.log({"loss": 1.0})
    with begin(fork_from="r?_step=10", id="f") as run:
        assert (run.step, run.attempt) == (12, 2)


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ({"resume_from": "r"}, "must name a run and a step of it, such as"),
        ({"resume_from": "r?_step=-1"}, "must name a run and a step of it"),
        ({"resume_from": 5}, "must name a run and a step of it"),
        ({"resume_from": "r?_step=3", "fork_from": "r?_step=3"}, "give one of them"),
        ({"resume_from": "r?_step=3", "resume": "allow"}, "can't be given together: leave resume out"),
        ({"resume_from": "r?_step=3", "id": "other"}, "leave id out"),
        ({"resume_from": "gone?_step=3"}, "there is no run gone in"),
        ({"resume_from": "r?_step=30"}, "asks for step 30, and run r has come to step 9"),
        ({"fork_from": "gone?_step=3"}, "there is no run gone in"),
        ({"fork_from": "r?_step=30"}, "asks for step 30, and run r has come to step 9"),
        ({"fork_from": "r?_step=3", "id": "r"}, "give it another id, or none"),
        ({"fork_from": "r?_step=3", "id": "taken"}, "run taken exists, and is no fork of r at step 3"),
    ],
)
def test_what_can_not_be_is_said_before_training_begins(arguments: dict[str, object], why: str) -> None:
    record(range(10), id="r")
    record(range(2), id="taken")
    with pytest.raises(UsageError, match=why.replace("?", r"\?")):
        begin(**arguments)
    assert load("r").row.rows == 10


def test_a_run_that_still_runs_is_not_taken_back() -> None:
    program = "import holter, signal\nholter.init(id='r').log({'a': 1})\nprint('on', flush=True)\nsignal.pause()"
    with start(program, HOLTER_MODE="offline") as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "on\n"
        with pytest.raises(UsageError, match="run r is still running: end it"):
            begin(resume_from="r?_step=0")
        other.kill()


def test_a_run_that_is_active_is_given_back_with_a_word(capsys: pytest.CaptureFixture[str]) -> None:
    record(range(3), id="r")
    with begin(id="other") as run:
        assert begin(resume_from="r?_step=1") is run
    assert "run other is still active, and init() gives it back without resume_from" in capsys.readouterr().err
