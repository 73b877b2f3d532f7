"""Sweeps with real programs and a real function, which really die."""

import contextlib
import io
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from holter.catalog.catalog import Catalog
from holter.cli.main import main
from holter.sweeps.opening import open_local
from holter.sweeps.present import SweepJson
from tests.e2e.programs import data_directory, run, start, wait_until
from tests.unit.sweeps.wandb_configurations import UNDERSTOOD

PROGRAM = """
import os, signal, sys, time
import numpy
import holter

run = holter.init(config={"lr": -1.0, "optimizer": {"name": "none", "beta": 0.5}})
config = run.config
assert config["lr"] != -1.0 and config["optimizer"]["beta"] == 0.5
kind = config["kind"]
marker = __file__ + ".killed"
if kind == "killed" and not os.path.exists(marker):
    open(marker, "w").close()
    numpy.savez(__file__ + ".npz", a=numpy.ones(3))
    run.checkpoint(__file__ + ".npz", step=1, artifact=False)
    os.kill(os.getpid(), signal.SIGKILL)
if kind == "killed":
    assert os.environ["HOLTER_RESUME_FROM"] == __file__ + ".npz"
if kind == "memory":
    bytearray(1 << 60)
if kind == "code":
    raise ValueError("it is the code")
for _ in range(3):
    holter.log({"loss": config["lr"] + (kind == "worse")})
if kind in ("slow", "worse"):
    while True:
        holter.log({"loss": 9.0})
        time.sleep(0.01)
"""


def agent(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """An agent is a process of its own; the other commands need none."""
    command = [sys.executable, "-m", "holter", "agent", *arguments]
    return subprocess.run(
        command, check=False, capture_output=True, text=True, timeout=300, env={**os.environ, **environment}
    )


def holter(*arguments: str) -> str:
    """What a command prints."""
    kept = io.BytesIO()
    with contextlib.redirect_stdout(io.TextIOWrapper(kept, "utf-8")) as said:
        assert main(list(arguments)) == 0
        said.flush()
        return kept.getvalue().decode()


def begin(folder: Path, **given: Any) -> str:
    (folder / "train.py").write_text(PROGRAM)
    metric = {"name": "loss", "goal": "minimize"}
    file = folder / "sweep.yaml"
    about = {"program": str(folder / "train.py"), "method": "grid", "metric": metric, **given}
    file.write_text(json.dumps(about))
    return str(json.loads(holter("sweep", str(file), "--json"))["sweep"])


def shown(sweep: str) -> SweepJson:
    return open_local(str(data_directory()), sweep).show()


PARAMETERS = {
    "lr": {"value": 0.5},
    "optimizer": {"parameters": {"name": {"value": "adam"}}},
    "kind": {"values": ["well", "killed", "memory", "code"]},
}
ARGUMENTS = ["${env}", "${interpreter}", "${program}", "${args_no_hyphens}"]


def test_an_agent_runs_programs_and_their_causes_decide(tmp_path: Path) -> None:
    sweep = begin(tmp_path, parameters=PARAMETERS, command=ARGUMENTS)
    worked = agent(sweep)
    assert worked.returncode == 0, worked.stderr
    assert "all trials have ended" in worked.stderr
    found = json.loads(holter("sweep", "show", sweep, "--json"))
    known = {each["params"]["kind"]: each for each in found["trials"]}
    assert {kind: (each["state"], each["cause"], each["attempts"]) for kind, each in known.items()} == {
        "well": ("finished", "", 1),
        "killed": ("finished", "", 2),
        "memory": ("infeasible", "allocation-refused", 1),
        "code": ("failed", "uncaught-exception", 1),
    }
    assert known["well"]["value"] == known["killed"]["value"] == 0.5
    row = Catalog(str(data_directory())).load(known["well"]["run"]).row
    assert (row.state, row.group, row.config["optimizer"]) == ("finished", sweep, {"name": "adam", "beta": 0.5})
    assert "lr: 0.5" in holter("sweep", "best", sweep)
    assert holter("sweep", "export", sweep).splitlines()[0].startswith("trial,state,cause,value,attempts,run,lr")
    assert sweep in holter("sweep", "ls")
    assert "is finished" in holter("sweep", "show", sweep)


def test_a_trial_that_does_worse_is_ended_early_and_its_run_is_finished(tmp_path: Path) -> None:
    parameters = {**PARAMETERS, "kind": {"values": ["well", "slow", "worse"]}}
    early = {"type": "percentile", "percentile": 50, "startup": 1, "min_iter": 1}
    sweep = begin(tmp_path, parameters=parameters, command=ARGUMENTS, early_terminate=early, method="random", run_cap=2)
    for kind in ("well", "worse"):
        holter("sweep", "add", sweep, "lr=0.5", "optimizer.name=adam", f"kind={kind}")
    worked = agent(sweep)
    assert worked.returncode == 0, worked.stderr
    found = shown(sweep)
    assert [each.state for each in found.rows] == ["finished", "pruned"]
    row = Catalog(str(data_directory())).load(found.rows[1].run).row
    assert row.state == "finished"
    assert row.mark is not None
    assert "ended early" in row.mark.reason


def test_a_killed_agent_leaves_its_trial_to_another(tmp_path: Path) -> None:
    sweep = begin(tmp_path, parameters={**PARAMETERS, "kind": {"values": ["slow"]}}, command=ARGUMENTS)
    command = [sys.executable, "-m", "holter", "agent", sweep]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as one:
        wait_until(lambda: any(each.iteration for each in shown(sweep).rows), 120)
        one.kill()
    assert open_local(str(data_directory()), sweep).state().trials[0].state == "running"
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as other:
        wait_until(lambda: shown(sweep).rows[0].attempts == 2, 120)
        other.send_signal(signal.SIGTERM)
        _, said = other.communicate(timeout=120)
    assert "was given back" in said
    [trial] = shown(sweep).rows
    assert (trial.state, trial.attempts) == ("waiting", 2)


FUNCTION = """
import holter

def train():
    with holter.init(project="p") as run:
        kind = run.config["kind"]
        if kind == "memory":
            bytearray(1 << 60)
        if kind == "code":
            raise ValueError("no")
        for step in range(8):
            holter.log({"loss": 9.0 if kind == "worse" else 1.0 / (step + 1)})

kinds = ["well", "well", "worse", "memory", "code"]
sweep = holter.sweep({
    "method": "random", "metric": {"name": "loss", "goal": "minimize"}, "run_cap": len(kinds),
    "parameters": {"kind": {"values": ["well", "worse", "memory", "code"]}},
    "early_terminate": {"type": "percentile", "percentile": 50, "startup": 2, "min_iter": 3},
})
from holter.sweeps.opening import Place
for kind in kinds:
    Place().find(sweep).add({"kind": kind})
holter.agent(sweep, function=train)
print(sweep)
"""


def test_a_function_is_called_for_each_trial_and_log_ends_it_early() -> None:
    program = run(FUNCTION)
    assert program.returncode == 0, program.stderr
    found = shown(program.stdout.split()[-1])
    assert [(each.state, each.cause) for each in found.rows] == [
        ("finished", ""),
        ("finished", ""),
        ("pruned", ""),
        ("infeasible", "allocation-refused"),
        ("failed", "uncaught-exception"),
    ]
    assert [each.value for each in found.rows[:3]] == [0.125, 0.125, 9.0]
    rows = [Catalog(str(data_directory())).load(each.run).row for each in found.rows]
    assert [each.state for each in rows] == ["finished", "finished", "finished", "failed", "failed"]
    assert [each.mark is not None and "ended early" in each.mark.reason for each in rows] == [
        False,
        False,
        True,
        False,
        False,
    ]


def test_ctrl_c_once_finishes_the_trial_of_a_function_also_with_names_of_wandb() -> None:
    source = """
    import holter.as_wandb
    import os, signal, wandb
    def train():
        with wandb.init():
            os.kill(os.getpid(), signal.SIGINT)
            wandb.log({"loss": wandb.config.x})
    configuration = {"method": "random", "metric": {"name": "loss"}, "parameters": {"x": {"value": 2.0}}}
    sweep = wandb.sweep(configuration, project="door")
    wandb.agent(sweep, function=train)
    print(sweep)
    """
    with start(source) as program:
        out, err = program.communicate(timeout=60)
    assert program.returncode == 0, err
    assert [(each.state, each.value) for each in shown(out.split()[-1]).rows] == [("finished", 2.0)]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("agent", "nosuch"), "there is no sweep 'nosuch'"),
        (("sweep", "show"), "needs the id of a sweep"),
        (("sweep", "shwo"), "there is no file 'shwo'; beside a YAML file there are ls, show"),
        (("agent", "x", "--count", "0"), "--count 0 runs nothing"),
        (("agent", "x", "--gpus", "some"), "--gpus some: write auto, how many, or their numbers with commas"),
        (("agent", "x", "--gpus", "0"), "there are no GPUs here for --gpus 0"),
    ],
)
def test_what_can_not_be_is_said_in_one_line(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], said: str
) -> None:
    assert main(list(arguments)) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert said in line


def test_a_file_that_is_not_utf_8_is_said_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "sweep.yaml").write_bytes("method: random  # größer".encode("latin-1"))
    assert main(["sweep", str(tmp_path / "sweep.yaml")]) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert "sweep.yaml can't be read as YAML" in line


def test_names_may_have_braces_and_what_is_printed_of_the_best_reads_the_same(tmp_path: Path) -> None:
    best = {"lr": 1e-05, "word": "no", "none": None, "number": "1e3"}
    parameters = {name: {"values": [value]} for name, value in best.items()} | {"lr": {"min": 0.0, "max": 1.0}}
    sweep = begin(tmp_path, parameters=parameters, method="random", name="{lr} {0}")
    assert holter("sweep", "pause", sweep) == "sweep {lr} {0} is paused\n"
    open_local(str(data_directory()), sweep).add(best, value=0.5)
    assert yaml.safe_load(holter("sweep", "best", sweep)) == best


def test_people_steer_a_sweep_by_commands(tmp_path: Path) -> None:
    made = run("import holter\nrun = holter.init(config={'x': 3.0, 'o': 1})\nrun.log({'loss': 0.25})\nprint(run.id)")
    recorded = made.stdout.split()[-1]
    sweep = begin(tmp_path, parameters={"x": {"min": 0.0, "max": 8.0}}, method="random", name="steered")
    for words, status in [(("pause",), "paused"), (("resume",), "running"), (("stop", "--now"), "stopped")]:
        assert json.loads(holter("sweep", words[0], sweep, *words[1:], "--json"))["status"] == status
    holter("sweep", "resume", sweep)
    assert "took over 1 run" in holter("sweep", "add", sweep, "--from", recorded)
    assert holter("sweep", "add", sweep, "x=1e-3") == "it is trial 1\n"
    assert holter("sweep", "again", sweep, "0") == "it is trial 2\n"
    holter("sweep", "bounds", sweep, "x", "2", "4")
    holter("sweep", "allow", sweep)
    holter("sweep", "lift", sweep, "somewhere/0")
    found = json.loads(holter("sweep", "show", sweep, "--json"))
    assert [(each["params"], each["state"], each["value"]) for each in found["trials"]] == [
        ({"x": 3.0}, "finished", 0.25),
        ({"x": 0.001}, "waiting", None),
        ({"x": 3.0}, "waiting", None),
    ]
    assert [(each["low"], each["high"]) for each in found["parameters"]] == [(2.0, 4.0)]
    assert main(["sweep", "bounds", sweep, "x", "2"]) == main(["sweep", "again", sweep, "7"]) == 2


RANKS = """
import json, os, subprocess, sys
import holter

if "RANK" not in os.environ:
    given = {**os.environ, "WORLD_SIZE": "2", "TORCHELASTIC_RUN_ID": "none"}
    ranks = [subprocess.Popen([sys.executable, __file__], env={**given, "RANK": str(n)}) for n in range(2)]
    sys.exit(max(each.wait() for each in ranks))
run = holter.init()
holter.log({"loss": 1.0} if os.environ["RANK"] == "0" else {"rank/1": 9.0})
seen = {"gpu": os.environ["CUDA_VISIBLE_DEVICES"], "cores": sorted(os.sched_getaffinity(0)), "run": run.id}
with open(f"{__file__}.{run.config['x']}.{os.environ['RANK']}", "w") as file:
    json.dump(seen, file)
"""


def test_each_gpu_has_an_agent_and_the_ranks_of_a_trial_are_one_run(tmp_path: Path) -> None:
    parameters = {"x": {"values": [1, 2]}}
    sweep = begin(tmp_path, parameters=parameters, command=["${interpreter}", str(tmp_path / "ranks.py")])
    (tmp_path / "ranks.py").write_text(RANKS)
    slurm = {"SLURM_JOB_ID": "71", "SLURM_ARRAY_JOB_ID": "70", "SLURM_ARRAY_TASK_ID": "1"}
    worked = agent(sweep, "--gpus", "auto", "--count", "2", CUDA_VISIBLE_DEVICES="3,5", **slurm)
    assert worked.returncode == 0, worked.stderr
    rows = shown(sweep).rows
    assert [(each.state, each.value, each.attempts) for each in rows] == [("finished", 1.0, 1)] * 2
    assert {each.gpu for each in rows} == {"3", "5"}
    cores = []
    for row in rows:
        ranks = [json.loads((tmp_path / f"ranks.py.{row.params['x']}.{rank}").read_text()) for rank in (0, 1)]
        assert [(each["gpu"], each["run"]) for each in ranks] == [(row.gpu, row.run)] * 2
        cores.append(ranks[0]["cores"])
    if len(os.sched_getaffinity(0)) > 1:
        assert not set(cores[0]) & set(cores[1])


ANYTHING = """
import json, os, sys
import holter

run = holter.init()
with open("seen.json", "w") as file:
    json.dump({"words": sys.argv[1:], "config": dict(run.config)}, file)
run.log({os.environ["METRIC"]: 0.5})
"""


@pytest.mark.parametrize("name", UNDERSTOOD)
def test_each_configuration_of_wandb_runs(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    written = yaml.safe_load(UNDERSTOOD[name])
    Path(program := written.get("program", "train.py")).write_text(ANYTHING)
    Path("sweep.yaml").write_text(UNDERSTOOD[name] + ("" if "program" in written else f"program: {program}\n"))
    sweep = json.loads(holter("sweep", "sweep.yaml", "--json"))["sweep"]
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    worked = agent(sweep, "--count", "1", PATH=path, METRIC=written.get("metric", {}).get("name", "any"))
    assert worked.returncode == 0, worked.stderr
    [trial] = shown(sweep).rows
    assert (trial.state, trial.value) == ("finished", 0.5 if "metric" in written else None)
    seen = json.loads(Path("seen.json").read_text())
    assert seen["config"].keys() == written["parameters"].keys()
    command = written.get("command", ["${args}"])
    if "${args_json_file}" in command:
        assert json.loads(Path(seen["words"][-1]).read_text()) == seen["config"]
    elif "${args_json}" in command:
        assert json.loads(seen["words"][-1]) == seen["config"]
    elif "${args}" in command:
        words = [word.removeprefix("--").partition("=")[0] for word in seen["words"][-len(seen["config"]) :]]
        assert words == list(seen["config"])
