"""Programs in the manner of public ones run unchanged through each door, and what they logged is all there."""

import math
import os
import subprocess
import sys
from pathlib import Path

import pytest

from holter.api.recorded_runs import Api
from holter.model.media_records import MediaLogged
from tests.e2e import wandb_loops
from tests.e2e.given_values import Given
from tests.e2e.programs import only_run, said

DOORS = ["option", "import", "named"]


def begin(source: str, door: str, place: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Let a program come in by a door, and end well."""
    lines = {"option": source, "import": f"import holter.as_wandb\n{source}"}
    script = place / "train.py"
    script.write_text(lines.get(door, source.replace("import wandb", "import holter as wandb")))
    launcher = ["-m", "holter", "run", "--as-wandb", "--", sys.executable] if door == "option" else []
    variables = {**os.environ, **environment, "HOLTER_QUIET": "1"}
    command = [sys.executable, *launcher, str(script)]
    done = subprocess.run(command, cwd=place, env=variables, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done


def train(source: str, door: str, place: Path) -> str:
    """Let a program train, and find all that it logged in its run; returns what it was told."""
    given = Given(place)
    done = begin(source, door, place, **given.environment)
    loaded = only_run()
    assert loaded.row.state == "finished"
    assert given.lost(loaded, done.stderr) == []
    return done.stderr


@pytest.mark.parametrize("door", DOORS)
def test_nanogpt(door: str, tmp_path: Path) -> None:
    assert train(wandb_loops.NANOGPT, door, tmp_path) == ""
    row = only_run().row
    assert (row.name, row.rows, row.config["max_iters"], row.config["learning_rate"]) == ("gpt2-mini", 5, 20, 6e-4)
    rows = list(Api().run(row.id).scan_history())
    assert [each["iter"] for each in rows] == [0, 5, 10, 15, 20]
    assert [each["val/loss"] for each in rows] == [4.1 * math.exp(-step / 9) for step in (0, 5, 10, 15, 20)]
    assert row.summary["mfu"] == 30.0


@pytest.mark.parametrize("door", DOORS)
def test_timm(door: str, tmp_path: Path) -> None:
    assert train(wandb_loops.TIMM, door, tmp_path) == ""
    row = only_run().row
    assert row.config == {"lr": 0.05, "log_wandb": True}
    assert row.summary == {"epoch": 3, "train_loss": 0.25, "eval_top1": 44.0, "best_metric": 56.0, "best_epoch": 1}
    tops = [each["eval_top1"] for each in Api().run(row.id).scan_history()]
    assert tops == [50.0, 56.0, 54.0, 44.0]


@pytest.mark.parametrize("door", DOORS)
def test_cleanrl(door: str, tmp_path: Path) -> None:
    assert train(wandb_loops.CLEANRL, door, tmp_path) == ""
    row = only_run().row
    assert (row.name, row.project, row.last_step) == ("CartPole-v1__ppo__1", "cleanRL", 30)
    assert [
        (each["_step"], each["charts/episodic_return"], each["charts/SPS"]) for each in Api().run(row.id).scan_history()
    ] == [(step, step * 2.0, 1000) for step in (0, 10, 20, 30)]


@pytest.mark.parametrize("door", DOORS)
def test_a_tutorial_with_media_and_artifacts(door: str, tmp_path: Path) -> None:
    told = train(wandb_loops.TUTORIAL, door, tmp_path)
    assert [line for line in told.splitlines() if "login()" not in line] == []
    loaded = only_run()
    summary = loaded.row.summary
    assert (summary["accuracy.max"], summary["epoch"]) == (0.9, 2)
    kinds = {type(record).__name__ for each in loaded.digests for record in each.said}
    assert {"ArtifactLogged", "Alerted"} <= kinds
    assert {kind for kind, _ in media(loaded.row.directory)} >= {"image", "table"}


@pytest.mark.parametrize("door", DOORS)
def test_tables_of_predictions_and_charts_of_them(door: str, tmp_path: Path) -> None:
    assert train(wandb_loops.PREDICTIONS, door, tmp_path) == ""
    row = only_run().row
    assert (row.last_step, row.notes) == (6, "look at predictions")
    assert (row.summary["acc"], row.summary["final_acc"]) == (0.6, 0.9)
    kinds: dict[str, set[str]] = {}
    for kind, key in media(row.directory):
        kinds.setdefault(kind, set()).add(key)
    assert kinds["table"] == {"test_predictions", "frame"}
    assert kinds["chart"] == {"cm", "roc", "pr", "line", "scatter", "bar", "h", "series"}
    assert {"seg", "det", "as image", "images"} <= kinds["image"]
    assert {"chart", "plt"} <= kinds["image"]
    assert [kinds[kind] for kind in ("video", "audio", "html", "object3d")] == [
        {"video"},
        {"audio"},
        {"html"},
        {"cloud"},
    ]


@pytest.mark.parametrize("door", DOORS)
def test_runs_that_hand_versions_on_to_each_other(door: str, tmp_path: Path) -> None:
    lineage, versions, runs = begin(wandb_loops.PIPELINE, door, tmp_path).stdout.splitlines()
    assert lineage == "train ['split'] ['eval']"
    assert versions == "['v2', 'v1', 'v0']"
    trained = ["Production", "model", "model", "model"]
    assert runs == str([("upload", ["raw"]), ("split", ["split"]), ("train", trained), ("eval", [])])


def test_of_whatever_is_logged_nothing_is_gone_without_a_word(tmp_path: Path) -> None:
    told = train(wandb_loops.EVERYTHING, "import", tmp_path)
    spoken_of = {line.split("'")[1] for line in told.splitlines() if line.startswith("holter: '")}
    assert spoken_of >= {"huge", "raw", "odd", "half", "broken", "long"}
    assert spoken_of.isdisjoint({"small", "square", "words", "scalars", "nested_items", "frame", "pictures", "level"})
    # Who looks for what is lost must find it.
    given = tmp_path / "listener" / "given.jsonl"
    given.write_text(given.read_text() + '["row", 7, "ghost", "plain", 1.5]\n["row", 0, "whole", "plain", 2]\n')
    assert sorted(Given(tmp_path).lost(only_run(), told)) == ["row 0 whole: plain 2", "row 7 ghost: plain 1.5"]


def media(directory: str) -> list[tuple[str, str]]:
    return [(told.type, told.key) for told in said(directory, MediaLogged) if isinstance(told, MediaLogged)]
