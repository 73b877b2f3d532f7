"""Programs written for W&B: what they ask for is done, or one sentence says that it is not."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from holter.api.recorded_runs import Api
from holter.catalog.catalog import Catalog
from holter.model.records import Alerted
from holter.recording.login import save_login
from tests.e2e.programs import data_directory, only_run, run


def holter(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "holter", *arguments], capture_output=True, text=True, check=False)


def sentences(program: subprocess.CompletedProcess[str]) -> list[str]:
    assert program.returncode == 0, program.stderr
    return [line.removeprefix("holter: ") for line in program.stderr.splitlines()]


def test_config_and_summary_of_the_module_are_those_of_the_run() -> None:
    program = run(
        """
        import argparse, json, holter as wandb
        wandb.init(config={"lr": 0.1, "model": {"width": 3}})
        wandb.config.update({"seed": 1}, allow_val_change=True)
        wandb.config.update(argparse.Namespace(batch=64))
        wandb.config.setdefaults({"lr": 0.2, "wd": 0.3})
        assert isinstance(wandb.config["model"], dict)
        json.dumps(dict(wandb.config))
        wandb.config["model"]["width"] = 4
        wandb.summary.update({"best": {"acc": 1}})
        wandb.summary["best"]["acc"] = 2
        assert wandb.summary["best"]["acc"] == 2
        """
    )
    assert sentences(program) == []
    row = only_run().row
    assert row.config == {"lr": 0.1, "model": {"width": 4}, "seed": 1, "batch": 64, "wd": 0.3}
    assert row.summary == {"best.acc": 2}


def test_a_change_inside_of_the_configuration_is_kept_while_the_program_logs() -> None:
    run(
        """
        import os, signal, holter
        run = holter.init(config={"model": {"width": 3}})
        run.config["model"]["width"] = 4
        run.log({"a": 1})  # the first row, and after that one in each second
        os.kill(os.getpid(), signal.SIGKILL)
        """
    )
    assert only_run().row.config == {"model": {"width": 4}}


def test_a_wrong_update_in_the_middle_of_training_is_a_sentence() -> None:
    program = run("import holter\nholter.init()\nholter.config.update(3)\nholter.summary.update(4)", HOLTER_STRICT="")
    assert sentences(program) == [
        "config must be a dict of names and values, got int '3'",
        "summary must be a dict of names and values, got int '4'",
    ]


def test_a_run_with_a_place_of_its_own_is_seen_and_deleted_by_every_command(tmp_path: Path) -> None:
    place = tmp_path / "scratch"
    program = run(f"import holter\nrun = holter.init(dir={str(place)!r}, id='r1')\nrun.log({{'a': 1}})\nprint(run.dir)")
    assert sentences(program) == []
    assert program.stdout.strip() == str(place / "runs" / "r1")
    assert [each["id"] for each in json.loads(holter("ls", "--json").stdout)["runs"]] == ["r1"]
    assert "r1" in holter("show", "r1").stdout
    assert holter("why", "r1").returncode == 0
    assert [each.directory for each in Catalog(str(data_directory())).rows()] == [str(data_directory() / "runs" / "r1")]
    again = run("import holter\nrun = holter.init(id='r1', resume='must')\nrun.log({'a': 2})\nprint(run.dir)")
    assert sentences(again) == []
    assert only_run().row.attempt == 2
    Api().run("r1").delete()
    assert list((place / "runs").iterdir()) == list((data_directory() / "runs").iterdir()) == []


def test_a_place_that_was_removed_leaves_no_trace_in_the_list(tmp_path: Path) -> None:
    run(f"import shutil, holter\nrun = holter.init(dir={str(tmp_path / 'x')!r})\nrun.finish()\nshutil.rmtree(run.dir)")
    listed = holter("ls", "--json")
    assert (listed.returncode, json.loads(listed.stdout)["runs"], listed.stderr) == (0, [], "")


def test_a_login_holds_for_a_run_with_a_place_of_its_own(tmp_path: Path) -> None:
    save_login(str(data_directory()), "http://127.0.0.1:9", key="k")
    program = run(f"import holter\nprint(holter.init(dir={str(tmp_path)!r}, settings={{'silent': True}}).url)")
    assert program.stdout.startswith("http://127.0.0.1:9/")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            "sync_tensorboard=True",
            "sync_tensorboard is not supported yet: what is written for TensorBoard is not recorded",
        ),
        ("tensorboard=True", "tensorboard is not supported yet: what is written for TensorBoard is not recorded"),
        ("monitor_gym=True", "monitor_gym is not supported yet: videos of environments are not recorded"),
        ("magic=True", "magic is not supported: only what log() is given is recorded"),
        ("resume_from='x?_step=5'", "resume_from='x?_step=5' is not supported yet: this is a new run"),
        ("fork_from='x?_step=5'", "fork_from='x?_step=5' is not supported yet: this is a new run"),
        ("mode='shared'", "mode='shared' is not supported yet: it is taken as online"),
        (
            "settings={'_disable_stats': True, 'init_timeout': 300}",
            "settings _disable_stats, init_timeout mean nothing",
        ),
        ("id='id with space'", "the run id 'id with space' can't name a directory: it is 'id-with-space-"),
    ],
)
def test_what_is_not_supported_is_said_once_and_the_run_recorded(arguments: str, sentence: str) -> None:
    [said] = sentences(run(f"import holter\nholter.init({arguments})\nholter.log({{'a': 1}})"))
    assert said.startswith(sentence)
    assert only_run().row.state == "finished"


@pytest.mark.parametrize(
    "arguments",
    [
        "save_code=True, anonymous='must', force=True, allow_val_change=True",
        "sync_tensorboard=False, monitor_gym=False, magic=None, resume_from=None, fork_from=None",
        "mode='dryrun'",
        "settings={'run_name': 'n', 'run_group': 'g', 'run_tags': ['t'], 'save_code': True, 'console': 'wrap'}",
    ],
)
def test_what_holds_anyway_needs_no_word(arguments: str) -> None:
    assert sentences(run(f"import holter\nholter.init({arguments})")) == []


def test_settings_of_the_same_meaning_are_taken() -> None:
    given = {"run_name": "n", "run_group": "g", "run_job_type": "j", "run_notes": "x", "run_tags": ["t"]}
    program = run(
        f"import holter\nrun = holter.init(settings={{**{given!r}, 'console': 'off'}})\nprint('seen')\nprint(run.dir)"
    )
    row = only_run().row
    assert (row.name, row.group, row.job_type, row.notes, row.tags) == ("n", "g", "j", "x", ("t",))
    assert "seen" not in holter("tail", row.id).stdout
    assert sentences(program) == []


def test_keys_can_be_left_out_of_the_configuration() -> None:
    run(
        """
        import holter
        holter.init(id="without", config={"a": 1, "b": 2}, config_exclude_keys=["a"]).finish()
        holter.init(id="only", config={"a": 1, "b": 2}, config_include_keys=["a"]).finish()
        """
    )
    rows = {row.id: row.config for row in Catalog(str(data_directory())).rows()}
    assert rows == {"without": {"b": 2}, "only": {"a": 1}}


def test_wandb_disabled_records_nothing_and_says_so() -> None:
    program = run("import holter\nholter.init()\nholter.log({'a': 1})", WANDB_DISABLED="true")
    assert sentences(program) == ["WANDB_DISABLED=true: nothing is recorded; HOLTER_MODE=online records anyway"]
    assert not data_directory().exists()
    for variables in ({"WANDB_DISABLED": "false"}, {"WANDB_DISABLED": "true", "HOLTER_MODE": "online"}):
        assert sentences(run("import holter\nholter.init()", **variables)) == []
    assert len(Catalog(str(data_directory())).rows()) == 2


def test_an_init_that_gives_back_the_active_run_says_what_it_leaves_aside() -> None:
    program = run("import holter\na = holter.init(name='a')\nb = holter.init(name='b', config={'x': 1})\nassert a is b")
    [sentence] = sentences(program)
    assert sentence.endswith(
        "is still active, and init() gives it back without name; reinit='create_new' begins another"
    )
    assert only_run().row.config == {"x": 1}


def test_alerts_wait_and_finish_is_quiet_where_asked() -> None:
    program = run(
        """
        import datetime, holter
        run = holter.init(settings={"quiet": False})
        for _ in range(3):
            run.alert("often", wait_duration=300)
            holter.alert("long", wait_duration=datetime.timedelta(minutes=5))
            run.alert("each")
        run.finish(quiet=True)
        """,
        HOLTER_QUIET="",
    )
    assert [alert.title for alert in only_run().said(Alerted)] == ["often", "long", "each", "each", "each"]
    assert "ended after" not in program.stderr


def test_what_is_changed_after_the_end_is_said_to_be_lost() -> None:
    program = run(
        """
        import holter
        run = holter.init(id="r1")
        run.finish()
        for _ in range(2):
            run.config.x = 1; run.summary["y"] = 2; run.name = "n"; run.alert("t"); run.mark_preempting()
        """
    )
    whats = ("a change of config", "a change of summary", "a change of name", "alert()", "mark_preempting()")
    assert sentences(program) == [f"{what} after finish() of run r1: it is not recorded" for what in whats]


def test_a_tensor_with_a_gradient_is_logged_without_torchs_warning() -> None:
    program = run(
        """
        import torch, holter
        run = holter.init()
        for step in range(6):
            run.log({"loss": (torch.ones(3, requires_grad=True) * step).sum(), "lr": 0.1})
        """
    )
    assert sentences(program) == []
    assert only_run().row.summary == {"loss": 15.0, "lr": 0.1}
