"""What every source of `probes/postmortem` promises: asked about a real death, and about one that it can't know of."""

import importlib
import os
import signal
import subprocess
from pathlib import Path

import pytest

from holter.lean import modules_in
from holter.model.clock import Clock
from holter.model.evidence import SOURCES, Unseen
from holter.model.finding import Finding
from holter.model.records import Opened
from holter.probes import postmortem
from holter.probes.postmortem.past import Past
from holter.probes.postmortem.scene import Death, Scene
from holter.probes.postmortem.sources import Source, load_sources

HOOKS = ("at_death", "later", "at_start")


@pytest.fixture(params=load_sources(), ids=lambda source: source.name)
def source(request: pytest.FixtureRequest) -> Source:
    found: Source = request.param
    return found


@pytest.fixture
def said() -> list[tuple[str, Finding]]:
    return []


@pytest.fixture
def scene(tmp_path: Path, said: list[tuple[str, Finding]]) -> Scene:
    def keep(source: str, found: Finding, *, pid: int = 0) -> None:
        said.append((source, found))

    return Scene(str(tmp_path), clock=Clock(), without=frozenset(), keep=keep)


def killed() -> Death:
    with subprocess.Popen(["sleep", "60"]) as process:
        process.kill()
        _, status = os.waitpid(process.pid, 0)
        process.returncode = -signal.SIGKILL
    return Death(pid=process.pid, at_ns=Clock().now_ns(), status=status)


def test_of_a_real_death_it_says_what_its_form_has(
    source: Source, scene: Scene, said: list[tuple[str, Finding]]
) -> None:
    scene.deaths = [killed()]
    scene.pids.add(scene.deaths[0].pid)
    if source.at_death is not None:
        source.at_death(scene)
    assert [(name, found) for name, found in said if not isinstance(found, SOURCES[name] | Unseen)] == []


def test_of_a_run_on_another_machine_it_says_nothing(source: Source) -> None:
    opened = Opened(
        at_ns=1, run="r", writer="client", host="elsewhere", boot_id="b", pid=7, process_started=1, holter="0"
    )
    past = Past(opened=opened, pid=7, began_ns=1, ended_ns=2, pids=frozenset({7}))
    assert source.later is None or source.later(past) is None


def test_every_file_that_can_be_asked_has_its_turn_and_no_two_have_the_same() -> None:
    modules = [importlib.import_module(f"{postmortem.__name__}.{name}") for name in modules_in(postmortem)]
    askable = {each.__name__.rpartition(".")[2] for each in modules if any(hasattr(each, hook) for hook in HOOKS)}
    assert askable == {source.name for source in load_sources()}
    assert len({source.turn for source in load_sources()}) == len(askable) > 8
