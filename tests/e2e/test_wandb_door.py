"""`import wandb` answered by holter: each call works or says why not, by every way in, and a real wandb stays."""

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

from holter.api.recorded_runs import Api
from tests.e2e import wandb_calls
from tests.e2e.programs import only_run, run

TRY = """
import argparse, contextlib, dataclasses, datetime, io, json, math, os, sys
import numpy as np
import holter.as_wandb
import wandb
open('cfg.yaml', 'w').write('lr: {value: 0.1}'); open('cfg.py', 'w').write('1')
answers = []
def attempt(line, names):
    call, _, sentence = line.partition(' ## ')
    said = io.StringIO()
    with contextlib.redirect_stderr(said):
        try:
            exec(call, {**globals(), **names})
            error = ''
        except BaseException as raised:
            error = f'{type(raised).__name__}: {raised}'
    # Once everywhere else: here each call is to say it again.
    lines = [text for text in said.getvalue().splitlines() if 'recording' not in text and 'ended after' not in text]
    answers.append([call, sentence, error, lines])
"""
END = "\nprint(json.dumps(answers))"


def answers_of(lines: str, before: str, each: str, place: Path) -> list[list[Any]]:
    """Each line with what is expected to be said, what it raised, and what was said."""
    calls = [line for line in lines.splitlines() if line]
    source = (
        TRY
        + textwrap.dedent(before)
        + f"\nfor line in {calls!r}:\n{textwrap.indent(textwrap.dedent(each), '    ')}"
        + END
    )
    environment = {**os.environ, "HOLTER_STRICT": "", "HOLTER_QUIET": "1"}
    done = subprocess.run(
        [sys.executable, "-c", source], cwd=place, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    answers: list[list[Any]] = json.loads(done.stdout.splitlines()[-1])
    assert len(answers) == len(calls)
    return answers


def tried(lines: str, before: str, each: str, place: Path) -> None:
    """Every line works, and says what is expected or nothing."""
    wrong = [
        (call, error, said)
        for call, sentence, error, said in answers_of(lines, before, each, place)
        if error or (not any(sentence in line for line in said) if sentence else said)
    ]
    assert not wrong, "\n".join(map(str, wrong))


def test_every_way_to_begin_a_run_works_or_says_why_not(tmp_path: Path) -> None:
    tried(wandb_calls.INIT, "", "attempt(line, {})\nwandb.finish()", tmp_path)


def test_everything_that_is_asked_of_a_run_works_or_says_why_not(tmp_path: Path) -> None:
    before = """
    import PIL.Image, matplotlib, pandas as pd, plotly.graph_objects, torch
    matplotlib.use('Agg')
    from matplotlib import pyplot as plt
    def figure():
        made, axes = plt.subplots(); axes.plot([1, 2]); return made
    run = wandb.init(project='p', config={'a': 1})
    """
    tried(wandb_calls.RUN, before, "attempt(line, {'run': run})", tmp_path)


def test_what_cannot_be_is_refused_with_a_sentence_before_training(tmp_path: Path) -> None:
    answers = answers_of(wandb_calls.REFUSED, "", "attempt(line, {})\nwandb.finish()", tmp_path)
    assert [(call, error) for call, sentence, error, _ in answers if sentence not in error or not sentence] == []


def test_everything_that_is_asked_of_the_api_works_or_says_why_not(tmp_path: Path) -> None:
    before = """
    with wandb.init(project='p', config={'lr': 0.1}, tags=['a']) as run:
        for step in range(5):
            run.log({'loss': 1.0 / (step + 1), 'epoch': step})
        run.save('cfg.yaml')
        model = wandb.Artifact('model', type='model')
        model.add_file('cfg.py')
        run.log_artifact(model).wait()
    api = wandb.Api()
    """
    tried(wandb_calls.API, before, "attempt(line, {'api': api, 'past': api.run(run.id)})", tmp_path)


TRAINING = """
import math, random
import wandb
run = wandb.init(project="loops", config=dict(lr=0.1, epochs=3))
wandb.define_metric("epoch")
wandb.define_metric("val/*", step_metric="epoch", summary="min")
random.seed(1)
for epoch in range(wandb.config.epochs):
    for batch in range(4):
        wandb.log({"train/loss": math.exp(-epoch) + batch / 10})
    wandb.log({"epoch": epoch, "val/loss": abs(1.5 - epoch)})
wandb.run.summary["best"] = 0.5
wandb.finish()
"""


def assert_recorded() -> None:
    row = only_run().row
    assert (row.state, row.project, row.rows, row.steps) == ("finished", "loops", 15, 15)
    assert row.config == {"lr": 0.1, "epochs": 3}
    assert row.summary == {
        "train/loss": pytest.approx(0.435, abs=1e-3),
        "epoch": 2,
        "val/loss.min": 0.5,
        "best": 0.5,
    }


def test_a_program_is_recorded_whole_by_an_import_in_its_first_line() -> None:
    assert run(f"import holter.as_wandb\n{TRAINING}").returncode == 0
    assert_recorded()


def test_a_program_is_recorded_whole_with_holter_imported_as_wandb() -> None:
    assert run(TRAINING.replace("import wandb", "import holter as wandb")).returncode == 0
    assert_recorded()


@pytest.mark.parametrize("asked", [["--as-wandb"], []], ids=["option", "variable"])
def test_an_unchanged_program_is_recorded_whole_under_holter_run(asked: list[str], tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(TRAINING)
    environment = {**os.environ, "HOLTER_QUIET": "1", "HOLTER_PROJECT": "loops"}
    if not asked:
        environment["HOLTER_AS_WANDB"] = "1"
    command = [sys.executable, "-m", "holter", "run", *asked, "--", sys.executable, str(script)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert_recorded()


def test_the_users_own_sitecustomize_still_runs(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("import builtins; builtins.OWN = 'here'")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path), "HOLTER_QUIET": "1"}
    program = "import builtins, wandb; print(builtins.OWN, wandb.__version__)"
    command = [sys.executable, "-m", "holter", "run", "--as-wandb", "--", sys.executable, "-c", program]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["here", "0.31.0"], done.stderr


@pytest.mark.parametrize(("words", "known"), [(["--report_to", "holter"], "holter"), (["--epochs", "3"], "")])
def test_a_framework_knows_holter_where_the_command_names_it(words: list[str], known: str, tmp_path: Path) -> None:
    package = tmp_path / "accelerate"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "tracking.py").write_text("LOGGER_TYPE_TO_CLASS = {}\nclass GeneralTracker: pass")
    program = "from accelerate.tracking import LOGGER_TYPE_TO_CLASS as known; print(*known)"
    command = [sys.executable, "-m", "holter", "run", "--", sys.executable, "-c", program, *words]
    environment = {**os.environ, "PYTHONPATH": str(tmp_path), "HOLTER_QUIET": "1"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (done.stdout.strip(), done.stderr) == (known, "")


def test_a_real_wandb_is_untouched_and_comes_back(tmp_path: Path) -> None:
    package = tmp_path / "wandb"
    package.mkdir()
    (package / "__init__.py").write_text("REAL = True")
    (package / "util.py").write_text("REAL = True")
    program = run(
        """
        import wandb, wandb.util
        real = wandb
        import holter.as_wandb
        import wandb
        assert not hasattr(wandb, "REAL") and wandb.__spec__.origin == "holter"
        from importlib.metadata import version
        assert version("wandb") == "0.31.0"
        holter.as_wandb.off()
        import wandb, wandb.util
        assert wandb is real and wandb.util.REAL
        holter.as_wandb.on()
        import wandb.errors
        from wandb.sdk.lib.config_util import ConfigError
        assert issubclass(ConfigError, wandb.errors.Error)
        """,
        PYTHONPATH=str(tmp_path),
    )
    assert program.returncode == 0, program.stderr
    assert "wandb was imported before" in program.stderr


def test_what_a_person_sets_after_the_fact_holds_over_the_programs_word() -> None:
    run("import holter\nwith holter.init(id='r', config={'a': 1}) as run:\n    run.log({'loss': 1.0})")
    found = Api().run("r")
    found.config["a"] = 2
    found.summary["best"] = 0.5
    found.update()
    again = Api().run("r")
    assert (again.config, again.summary) == ({"a": 2}, {"loss": 1.0, "best": 0.5})
