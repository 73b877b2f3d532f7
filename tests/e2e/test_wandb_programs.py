"""Programs written for W&B: what they ask for is done, or one sentence says that it is not."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from holter.api.recorded_runs import Api
from holter.catalog.catalog import Catalog
from holter.model.media_records import MediaLogged
from holter.model.records import Alerted
from holter.recording.login import save_login
from tests.e2e.programs import data_directory, only_run, run, said, wait_until


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
        ("magic=True", "magic is not supported: only what log() is given is recorded"),
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
        "monitor_gym=True",
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


def test_variables_of_wandb_that_mean_nothing_here_are_named() -> None:
    program = run("import holter\nholter.init().log({'a': 1})", WANDB_CONFIG_PATHS="a.yaml", WANDB_CONSOLE="off")
    assert sentences(program) == ["WANDB_CONFIG_PATHS is not read: init(config='file.yaml') takes such a file"]


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        (
            "WANDB_BASE_URL",
            "https://wandb.example.org",
            "WANDB_BASE_URL is not read: HOLTER_URL, or `holter login URL`,",
        ),
        ("WANDB_CACHE_DIR", "/tmp/cache", "WANDB_CACHE_DIR is not read: HOLTER_DIR moves everything"),
        ("WANDB_HOST", "other", "WANDB_HOST is not read: the machine's own name is recorded"),
    ],
)
def test_a_variable_that_is_not_read_says_what_is(name: str, value: str, sentence: str) -> None:
    [said] = sentences(run("import holter\nholter.init()", **{name: value}))
    assert said.startswith(sentence)


def test_a_run_lies_where_wandb_dir_wants_it(tmp_path: Path) -> None:
    program = run(
        "import holter\nprint(holter.init().dir)", WANDB_DIR=str(tmp_path / "w"), HOLTER_DIR="", HOME=str(tmp_path)
    )
    assert (Path(program.stdout.strip()).parent, program.stderr) == (tmp_path / "w" / "runs", "")
    [link] = (tmp_path / ".local/share/holter/runs").iterdir()
    assert link.resolve() == Path(program.stdout.strip())


GYM = """
import holter
run = holter.init(monitor_gym=True)
from gymnasium.wrappers.rendering import RecordVideo
recorder = RecordVideo("videos")
for step in range(2):
    run.log({"reward": 1.0}, step=step)
    recorder.begin(f"rl-video-episode-{step}")
    recorder.stop_recording()
recorder.stop_recording()
run.log({"reward": 2.0}, step=2)
"""


def test_videos_of_environments_are_media(tmp_path: Path) -> None:
    package = tmp_path / "gymnasium" / "wrappers"
    package.mkdir(parents=True)
    (package / "rendering.py").write_text(
        "import os\nclass RecordVideo:\n"
        "    def __init__(self, folder): self.video_folder, self._video_name = folder, None\n"
        "    def begin(self, name): self._video_name = name\n"
        "    def stop_recording(self):\n"
        "        os.makedirs(self.video_folder, exist_ok=True)\n"
        "        if self._video_name: open(f'{self.video_folder}/{self._video_name}.mp4', 'wb').write(b'film')\n"
        "        self._video_name = None\n"
    )
    program = run(f"import os\nos.chdir({str(tmp_path)!r})\n{GYM}", PYTHONPATH=str(tmp_path))
    assert sentences(program) == []
    row = only_run().row
    kept = [(told.key, told.type, told.step) for told in said(row.directory, MediaLogged)]  # type: ignore[attr-defined]
    assert kept == [("videos", "video", 0), ("videos", "video", 1)]
    assert row.last_step == 2


SETTINGS = {
    "run_name": "n",
    "run_group": "g",
    "run_job_type": "j",
    "run_notes": "x",
    "run_tags": "a,b",
    "run_id": "r1",
    "project": "p",
    "entity": "e",
    "mode": "offline",
    "disable_code": "true",
    "disable_git": "true",
    "sync_tensorboard": "true",
}
VARIABLES = {"run_name": "NAME", "run_job_type": "JOB_TYPE", "run_notes": "NOTES", "run_tags": "TAGS"}
"""What W&B calls them there, where that is not their name."""


@pytest.mark.parametrize("door", ["settings", "variables"])
def test_settings_of_wandb_that_mean_something_here_do_what_they_say(door: str, tmp_path: Path) -> None:
    given = f"settings=wandb.Settings(root_dir='here', **{SETTINGS!r})" if door == "settings" else ""
    spelled = {f"WANDB_{VARIABLES.get(name, name.upper())}": value for name, value in SETTINGS.items()}
    script = tmp_path / "train.py"
    script.write_text(
        f"import sys, holter.as_wandb, wandb\nwandb.init({given}).log({{'a': 1}})\n"
        "print('holter.client.tensorboard' in sys.modules)"
    )
    (tmp_path / ".git").mkdir()
    environment = {**os.environ, "HOLTER_QUIET": "1", **(spelled if door == "variables" else {})}
    command = [sys.executable, str(script)]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("True\n", "")
    row = only_run().row
    assert (row.id, row.name, row.group, row.job_type, row.notes) == ("r1", "n", "g", "j", "x")
    assert (list(row.tags), row.project, row.entity) == (["a", "b"], "p", "e")
    wait_until((Path(row.directory) / "requirements.txt").exists)
    assert not (Path(row.directory) / "script.py").exists()
    assert (tmp_path / "here" / "runs" / "r1").is_dir() == (door == "settings")


def test_a_server_of_wandb_is_never_taken_for_one_of_ours() -> None:
    program = run(
        """
        import os, holter.as_wandb, wandb
        wandb.login(host="https://wandb.example.org", key="0123456789" * 4)
        wandb.login(host="https://tracking.example.org", key="0123456789" * 4)
        assert "HOLTER_URL" not in os.environ and "HOLTER_API_KEY" not in os.environ
        wandb.Api({"base_url": "https://wandb.example.org"}).runs()
        wandb.login(host="https://tracking.example.org", key="holter_1_x")
        assert os.environ["HOLTER_URL"] == "https://tracking.example.org"
        """
    )
    [sentence] = sentences(program)
    assert sentence.startswith(
        "login() needs no account: runs stay on this machine, and https://wandb.example.org and "
    )


def test_settings_say_how_often_init_may_be_called_and_are_not_taken_for_a_servers_key() -> None:
    program = run(
        """
        import holter.as_wandb, wandb
        first = wandb.init(settings=wandb.Settings(api_key="0123456789" * 4, base_url="https://wandb.example.org"))
        assert wandb.init(settings=wandb.Settings(reinit="create_new")) is not first
        """
    )
    assert sentences(program) == [
        "api_key is one of W&B's and is not used: `holter login URL` keeps the one of a server",
        "base_url is not read: HOLTER_URL, or `holter login URL`, names a holter server",
    ]


@pytest.mark.parametrize("asked", ["save_code=False", "settings=wandb.Settings(save_code=False)", ""])
def test_code_is_kept_unless_the_program_says_that_it_is_not_to_be(asked: str, tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(f"import holter.as_wandb, wandb\nwandb.init({asked})")
    subprocess.run([sys.executable, str(script)], check=True)
    directory = Path(only_run().row.directory)
    wait_until((directory / "requirements.txt").exists)  # what is written once everything was looked at
    assert (directory / "script.py").exists() == (asked == "")


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
