"""What follows the death of a trial, by real programs that really die and the agents that run them."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from holter.agents.asking import this_agent
from holter.sweeps.configuration import read_configuration
from holter.sweeps.opening import KeptSweep, begin_local, open_local
from tests.e2e.programs import data_directory, run, wait_until

TORCH = """
class AcceleratorError(RuntimeError):
    __module__ = "torch"

def synchronize():
    raise AcceleratorError("CUDA error: uncorrectable ECC error encountered")
"""
"""What the library of a GPU says where the GPU's memory fails: the words are real, the GPU is not."""
PROGRAM = """
import os, signal, sys, time
import holter

run = holter.init()
kind, first = run.config["kind"], not os.path.exists(__file__ + ".once")
open(__file__ + ".once", "a").close()
if kind == "gpu" and first:
    import torch

    torch.synchronize()
if kind == "disk" and first:
    with open("/dev/full", "w") as file:
        file.write("x" * 100_000)
if kind == "code":
    raise KeyError("no such layer")
for value in (3.0, 2.5, 2.0):
    run.log({"loss": value})
if kind == "nan":
    run.log({"loss": float("nan")})
    sys.exit()
while kind == "slow" and not os.path.exists(__file__ + ".enough"):
    run.log({"loss": 2.0})
    time.sleep(0.02)
"""


class Agents:
    """A sweep of a program, and agents that work at it."""

    def __init__(self, folder: Path, kind: str, **given: Any) -> None:
        self.program = folder / "train.py"
        self.program.write_text(PROGRAM)
        self.libraries = folder / "site-packages"
        (self.libraries / "torch").mkdir(parents=True)
        (self.libraries / "torch" / "__init__.py").write_text(TORCH)
        configuration = read_configuration(
            {
                "program": str(self.program),
                "command": ["${interpreter}", "${program}"],
                "method": "random",
                "metric": {"name": "loss"},
                "parameters": {"kind": {"value": kind}, "x": {"min": 0.0, "max": 1.0}},
                "run_cap": 1,
                **given,
            }
        )
        self.id = begin_local(str(data_directory()), configuration, project="p", by="ada")
        self.running: list[subprocess.Popen[str]] = []

    @property
    def sweep(self) -> KeptSweep:
        return open_local(str(data_directory()), self.id)

    def start(self, *arguments: str, **environment: str) -> "subprocess.Popen[str]":
        command = [sys.executable, "-m", "holter", "agent", self.id, *arguments]
        environ = {**os.environ, "PYTHONPATH": str(self.libraries), **environment}
        self.running.append(subprocess.Popen(command, env=environ, stderr=subprocess.PIPE, text=True))
        return self.running[-1]

    def run(self, *arguments: str, **environment: str) -> str:
        agent = self.start(*arguments, **environment)
        _, said = agent.communicate(timeout=240)
        assert agent.returncode == 0, said
        return said

    def attempts(self) -> list[tuple[str, str]]:
        return [(each.gpu, each.cause) for each in self.sweep.state().trials[0].attempts]

    def outcome(self) -> tuple[str, str, float | None]:
        trial = self.sweep.state().trials[0]
        return trial.state, trial.cause, trial.value


@pytest.fixture
def agents(tmp_path: Path) -> "Iterator[Callable[..., Agents]]":
    made: list[Agents] = []

    def begin(kind: str, **given: Any) -> Agents:
        made.append(Agents(tmp_path, kind, **given))
        return made[-1]

    yield begin
    for each in made:
        for agent in each.running:
            if agent.poll() is None:
                agent.kill()
            agent.communicate()


Begin = Callable[..., Agents]


def test_what_diverged_is_pruned_with_its_last_finite_value(agents: Begin) -> None:
    found = agents("nan")
    found.run()
    assert found.outcome() == ("pruned", "diverged", 2.0)


def test_a_gpu_that_fails_gets_no_more_trials_and_the_trial_runs_on_another(agents: Begin) -> None:
    found = agents("gpu")
    host = this_agent("").host
    broken = found.start("--gpu", "3")
    wait_until(lambda: bool(found.sweep.state().quarantined), 120)
    assert found.sweep.state().quarantined == {f"{host}/3": "gpu-fault"}
    found.run("--gpu", "5")
    assert found.attempts() == [("3", "gpu-fault"), ("5", "")]
    assert found.outcome() == ("finished", "", 2.0)
    _, said = broken.communicate(timeout=120)
    assert f"waiting: {host}/3 gets no trials: gpu-fault" in said


def test_a_full_disk_pauses_all_agents_of_its_host_until_somebody_lifts_that(agents: Begin) -> None:
    found = agents("disk")
    host = this_agent("").host
    one = found.start("--gpu", "0")
    wait_until(lambda: bool(found.sweep.state().quarantined), 120)
    other = found.start("--gpu", "1")
    wait_until(lambda: len(found.sweep.agents()) == 2, 120)
    assert found.attempts() == [("0", "disk-full")]
    lifted = subprocess.run([sys.executable, "-m", "holter", "sweep", "lift", found.id, host], check=False)
    assert lifted.returncode == 0
    said = [each.communicate(timeout=120)[1] for each in (one, other)]
    assert all(f"{host} gets no trials: disk-full: make room, then `holter sweep lift" in each for each in said)
    assert found.outcome() == ("finished", "", 2.0)


def test_the_same_exception_three_times_stops_the_sweep_with_its_traceback(agents: Begin) -> None:
    found = agents("code", run_cap=50)
    said = found.run()
    state = found.sweep.state()
    assert (state.status, [each.state for each in state.trials]) == ("stopped", ["failed"] * 3)
    for text in (state.reason, said):
        assert "3 trials failed at the same place, so it is the code: " in text
        assert 'raise KeyError("no such layer")' in text


def test_ctrl_c_once_lets_the_trial_finish_and_no_other_begin(agents: Begin) -> None:
    found = agents("slow", run_cap=9)
    agent = found.start()
    wait_until(lambda: any(each.iteration for each in found.sweep.show().rows), 120)
    agent.send_signal(signal.SIGINT)
    assert agent.stderr is not None
    lines = iter(agent.stderr.readline, "")
    assert any("finishing this trial, then leaving" in line for line in lines)
    Path(f"{found.program}.enough").touch()
    agent.communicate(timeout=120)
    assert agent.returncode == 0
    assert [each.state for each in found.sweep.state().trials] == ["finished"]


def test_ctrl_c_twice_gives_the_trial_back_at_once_and_that_is_no_try(agents: Begin) -> None:
    found = agents("slow")
    agent = found.start()
    wait_until(lambda: any(each.iteration for each in found.sweep.show().rows), 120)
    agent.send_signal(signal.SIGINT)
    assert agent.stderr is not None
    assert any("finishing this trial" in line for line in iter(agent.stderr.readline, ""))
    agent.send_signal(signal.SIGINT)
    _, said = agent.communicate(timeout=120)
    assert "trial 0 was given back" in said
    [trial] = found.sweep.state().trials
    assert (trial.state, trial.tries) == ("waiting", 0)
    Path(f"{found.program}.enough").touch()
    found.run()
    assert found.outcome() == ("finished", "", 2.0)


def test_ctrl_c_twice_in_a_function_gives_its_trial_back_and_is_heard_by_the_program() -> None:
    source = """
    import os, signal, holter
    def train():
        with holter.init() as run:
            run.log({"loss": 1.0})
            os.kill(os.getpid(), signal.SIGINT)
            os.kill(os.getpid(), signal.SIGINT)
            run.log({"loss": 0.5})
    configuration = {"method": "random", "metric": {"name": "loss"}, "parameters": {"x": {"value": 2.0}}}
    sweep = holter.sweep(configuration, project="p")
    print(sweep, flush=True)
    try:
        holter.agent(sweep, function=train)
    except KeyboardInterrupt:
        print("interrupted")
    """
    program = run(source)
    assert program.returncode == 0, program.stderr
    sweep, said = program.stdout.split()[-2:]
    assert said == "interrupted"
    [trial] = open_local(str(data_directory()), sweep).state().trials
    assert (trial.state, trial.tries, trial.value) == ("waiting", 0, None)
