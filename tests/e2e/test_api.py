"""`holter.Api()` says the same of a run whether it asks a server or reads the local directory."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import holter
from holter.api.recorded_runs import Api
from tests.e2e.programs import data_directory, run, sidecars, start, wait_until
from tests.e2e.servers import ui

TRAINING = """
import os, holter
run = holter.init(project="api", name=os.environ["N"], config={"lr": float(os.environ["LR"])})
for step in range(100):
    run.log({"loss": 1 / (step + 1), "rate": 100.0 - step})
run.log({"loss": 7.0}, step=50)
run.log({"once": 3}, step=200)
print("bye")
if os.environ.get("RAISE"):
    raise ValueError("boom")
"""


@pytest.fixture
def runs() -> dict[str, str]:
    """Two runs that have ended, by name."""
    run(TRAINING, N="good", LR="0.1")
    run(TRAINING, N="bad", LR="0.2", RAISE="1")
    wait_until(lambda: not sidecars(str(data_directory())))
    return {each.name: each.id for each in Api(directory=data_directory()).runs()}


@pytest.fixture(params=["local", "server"])
def api(request: pytest.FixtureRequest, runs: dict[str, str]) -> Iterator[Api]:
    if request.param == "local":
        yield holter.Api()
        return
    with ui() as served:
        wait_until(lambda: all(each["state"] != "running" for each in served.get("/runs")["runs"]))
        wait_until(lambda: served.get("/runs", filter="summary.once = 3")["total"] == 2)
        yield holter.Api(served.address, served.key)


def test_runs_are_found_by_filters_and_sorted(api: Api, runs: dict[str, str]) -> None:
    assert [each.name for each in api.runs("api", sort="-config.lr")] == ["bad", "good"]
    [bad] = api.runs(filter="state = failed and config.lr > 0.15")
    assert (bad.id, bad.state, bad.cause, bad.config) == (runs["bad"], "failed", "uncaught-exception", {"lr": 0.2})
    assert len(api.runs("other")) == 0
    assert [each.name for each in api.runs(sort="name", limit=1)] == ["bad"]
    with pytest.raises(holter.UsageError, match="="):
        api.runs(filter="state = = failed")
    with pytest.raises(holter.NoRun):
        api.run("nobody")


def test_history_is_columns_in_full_or_sampled(api: Api, runs: dict[str, str]) -> None:
    good = api.run(f"api/{runs['good']}")
    full = good.history(["loss", "once"], full=True)
    assert full["_step"].tolist() == [*range(100), 200]
    assert (full["loss"][50], full["loss"][99], full["once"][100]) == (7.0, 0.01, 3.0)
    assert np.isnan(full["loss"][100])
    assert np.isnan(full["once"][:100]).all()
    sampled = good.history("loss", samples=10)
    assert sampled["_step"].tolist() == [9, 19, 29, 39, 49, 59, 69, 79, 89, 99]
    assert sampled["loss"][-1] == 0.01
    assert sorted(good.history(samples=5)) == ["_step", "loss", "once", "rate"]
    by_rate = good.history("loss", x="rate", full=True)
    assert by_rate["rate"].tolist() == [float(rate) for rate in range(1, 101)]
    assert by_rate["loss"][0] == 0.01
    relative = good.history("loss", x="relative", full=True)["_runtime"]
    assert 0 <= relative.min() <= relative.max() < 60


def test_rows_console_files_and_verdict(api: Api, runs: dict[str, str], tmp_path: Path) -> None:
    bad = api.run(runs["bad"])
    rows = list(bad.scan_history())
    assert len(rows) == 101
    assert {name: rows[50][name] for name in ("_step", "loss", "rate")} == {"_step": 50, "loss": 7.0, "rate": 50.0}
    assert "bye" in bad.console()
    assert bad.summary["once"] == 3
    assert "summary.json" in {each.path for each in bad.files()}
    target = bad.download("summary.json", str(tmp_path / "copies"))
    assert b'"once": 3' in Path(target).read_bytes()
    assert bad.verdict()["cause"] == "uncaught-exception"
    system = [key for key in bad.keys() if key.startswith("system/")]  # noqa: SIM118  not a dict
    assert not system or os.uname().nodename in system[0]


def test_runs_can_be_changed_and_deleted(api: Api, runs: dict[str, str]) -> None:
    good = api.run(runs["good"])
    good.update(name="better", tags=["kept"], notes="a note")
    wait_until(lambda: api.run(good.id).name == "better")
    assert (api.run(good.id).tags, api.run(good.id).notes) == (["kept"], "a note")
    api.run(runs["bad"]).delete()
    assert [each.name for each in api.runs()] == ["better"]


def test_a_run_that_lives_is_not_deleted() -> None:
    with start("import holter, time\nrun = holter.init()\nprint(run.id, flush=True)\ntime.sleep(60)") as program:
        assert program.stdout is not None
        run_id = program.stdout.readline().strip()
        with pytest.raises(holter.HolterError, match="it is running"):
            holter.Api().run(run_id).delete()
        program.send_signal(signal.SIGKILL)
