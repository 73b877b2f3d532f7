"""What each file of `holter.integrations` promises, without its framework; `make frameworks` trains the real ones."""

import ast
import importlib
import types
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import holter
from holter.api.recorded_runs import Api
from holter.client import active
from holter.client.framework_run import join_run, unraised

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "src" / "holter" / "integrations"
NAMES = sorted(path.stem for path in FOLDER.glob("*.py") if path.stem not in ("__init__", "arriving"))


@pytest.fixture
def ended() -> Callable[[], Any]:
    def look() -> Any:  # noqa: ANN401  an `ApiRun`
        run = active.current()
        assert run is not None
        run.finish()
        return Api().run(run.id)

    return look


@pytest.mark.parametrize("name", NAMES)
def test_an_integration_has_lines_to_paste_a_range_of_versions_and_a_place_in_the_docs(name: str) -> None:
    tree = ast.parse((FOLDER / f"{name}.py").read_text())
    lines = (ast.get_docstring(tree) or "").splitlines()
    assert any(
        line.startswith(("import holter", f"from holter.integrations.{name}", "_target_"))
        for line in map(str.strip, lines)
    )
    named = {
        target.id
        for node in tree.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    assert "REQUIRES" in named
    assert f"holter.integrations.{name}" in (ROOT / "docs" / "integrations.md").read_text()


def test_boosting_rounds_of_lightgbm_are_rows(monkeypatch: pytest.MonkeyPatch, ended: Callable[[], Any]) -> None:
    monkeypatch.setitem(importlib.import_module("sys").modules, "lightgbm", types.ModuleType("lightgbm"))
    callback = importlib.import_module("holter.integrations.lightgbm").HolterCallback()
    for step in range(3):
        result = [("valid_0", "l2", np.float64(1 / (step + 1)), False)]
        callback(
            types.SimpleNamespace(
                params={"learning_rate": 0.1},
                iteration=step,
                begin_iteration=0,
                end_iteration=3,
                evaluation_result_list=result,
            )
        )
    run = ended()
    assert [(row["_step"], row["valid_0/l2"]) for row in run.scan_history()] == [(0, 1.0), (1, 0.5), (2, 1 / 3)]
    assert run.config == {"learning_rate": 0.1, "num_boost_round": 3}


def test_epochs_of_ultralytics_are_rows_and_its_checkpoints_are_named(tmp_path: Path, ended: Callable[[], Any]) -> None:
    calls = importlib.import_module("holter.integrations.ultralytics").HolterCallbacks().as_dict()
    (tmp_path / "best.pt").touch()
    with zipfile.ZipFile(tmp_path / "last.pt", "w") as saved:
        saved.writestr("archive/data.pkl", "weights")
    trainer = types.SimpleNamespace(
        args=types.SimpleNamespace(project="", name="tiny", epochs=2),
        label_loss_items=lambda losses, prefix: {f"{prefix}/box_loss": float(losses[0])},
        tloss=[np.float32(0.5)],
        metrics={"metrics/mAP50": 0.25},
        lr={"lr/pg0": 0.125},
        epoch=0,
        last=tmp_path / "last.pt",
        best=tmp_path / "best.pt",
    )
    calls["on_pretrain_routine_end"](trainer)
    for epoch in range(2):
        trainer.epoch = epoch
        calls["on_fit_epoch_end"](trainer)
        calls["on_model_save"](trainer)
    calls["on_train_end"](trainer)
    run = ended()
    assert (run.name, run.config["epochs"]) == ("tiny", 2)
    assert [(row["_step"], row["train/box_loss"], row["lr/pg0"]) for row in run.scan_history()] == [
        (1, 0.5, 0.125),
        (2, 0.5, 0.125),
    ]
    assert run.summary["checkpoint_step"] == 2
    assert run.summary["best_checkpoint"] == str(tmp_path / "best.pt")


def test_a_search_of_sklearn_is_recorded_candidate_by_candidate(ended: Callable[[], Any]) -> None:
    callback = importlib.import_module("holter.integrations.sklearn").HolterCallback()
    search = types.SimpleNamespace(
        get_params=lambda: {"cv": 3, "estimator": object},
        cv_results_={
            "params": [{"C": 1.0}, {"C": 10.0}],
            "mean_test_score": np.array([0.5, 0.75]),
            "std_test_score": np.zeros(2),
        },
        best_score_=np.float64(0.75),
        best_params_={"C": 10.0},
    )
    callback.setup(search, None)
    callback.teardown(search, None)
    run = ended()
    assert [row["search/mean_test_score"] for row in run.scan_history()] == [0.5, 0.75]
    assert (run.config["cv"], run.summary["best/C"], run.summary["best_score"]) == (3, 10.0, 0.75)


def test_a_later_rank_makes_no_run_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCAL_RANK", "1")
    assert join_run() is None
    assert active.current() is None


def test_a_rank_of_a_shared_run_joins_it(monkeypatch: pytest.MonkeyPatch, ended: Callable[[], Any]) -> None:
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("HOLTER_RUN_ID", "shared-by-ranks")
    joined = join_run()
    assert joined is not None
    assert joined.id == ended().id == "shared-by-ranks"


def test_a_callback_that_fails_says_so_and_the_training_goes_on(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HOLTER_STRICT", "0")
    monkeypatch.delenv("HOLTER_SILENT", raising=False)
    holter.init()

    @unraised
    def callback() -> None:
        raise AttributeError("no such loss")

    callback()
    holter.finish()
    assert "no such loss" in capsys.readouterr().err
