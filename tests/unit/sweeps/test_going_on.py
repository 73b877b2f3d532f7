"""Where a trial goes on that is tried again."""

import os
import pickle
import sys
import threading
from pathlib import Path
from typing import Any

import msgspec
import pytest

import holter
from holter.agents.agent import Holder
from holter.agents.function import FunctionRunner
from holter.agents.going_on import TRIES, Found, GoingOn
from holter.agents.program import ProgramRunner
from holter.client.trial import VARIABLE, Trial
from holter.errors import Unreachable
from holter.sweeps.configuration import read_configuration
from holter.sweeps.words import Asker, Lease, Said, Word
from holter.wire.way_back import Upload

LEASE = Lease(sweep="s", number=0, fence=3, run="s-0-3", params={"x": 1}, before=("s-0-2", "s-0"))
SERVER = Upload(url="http://127.0.0.1:1", key="hk_none")


@pytest.fixture(autouse=True)
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOLTER_DIR", str(tmp_path / "holter"))
    monkeypatch.setitem(sys.modules, "torch", None)  # another test may have left it, and then torch saves


def record(run: str, *steps: int) -> None:
    """A run that kept checkpoints and died."""
    with holter.init(id=run, project="p", mode="offline", settings={"silent": True}) as made:
        for step in steps:
            made.checkpoint({"step": step}, step=step, artifact=False)


def test_the_newest_of_the_last_attempt_that_kept_any_is_gone_on_from() -> None:
    record("s-0", 10, 20)
    record("s-0-2")
    found = GoingOn(os.environ["HOLTER_DIR"], None).find(LEASE)
    assert found.step == 20
    assert pickle.loads(Path(found.path).read_bytes()) == {"step": 20}
    assert found.variables == {"HOLTER_RESUME_FROM": found.path}


def test_without_any_that_can_be_reached_it_begins_anew() -> None:
    record("s-0-2")
    assert GoingOn(os.environ["HOLTER_DIR"], None).find(LEASE) == Found()
    assert Found().variables == {}


def test_a_server_that_is_away_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[float] = []
    going_on = GoingOn(os.environ["HOLTER_DIR"], SERVER, pause=waited.append)
    assert going_on.find(LEASE) == Found()
    assert len(waited) == 2 * TRIES

    def newest(far: object, run: str, lease: Lease) -> Found | None:
        if len(waited) < 2:
            raise Unreachable("no answer")
        return Found("there", 7)

    monkeypatch.setattr(going_on, "_newest", newest)
    waited.clear()
    assert going_on.find(LEASE) == Found("there", 7)


def test_the_program_learns_the_step_of_a_file_whose_name_does_not_say_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "weights.pkl"
    path.write_bytes(pickle.dumps({"w": 1}))
    trial = Trial(sweep="s", number=0, attempt=2, run="s-0-2", goes_on_from=str(path), step=1200)
    monkeypatch.setenv(VARIABLE, msgspec.json.encode(trial).decode())
    monkeypatch.setenv("HOLTER_RESUME_FROM", str(path))
    with holter.init(mode="offline", settings={"silent": True}):
        found = holter.resume()
    assert found is not None
    assert (found.step, found.path) == (1200, str(path))


class Heard:
    """A sweep that notes when somebody renews."""

    def __init__(self) -> None:
        self.renewed = threading.Event()

    def say(self, word: Word) -> Said:
        self.renewed.set()
        return Said(holds=True)


@pytest.mark.parametrize("kind", ["program", "function"])
def test_the_lease_is_renewed_while_a_checkpoint_is_fetched(monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    monkeypatch.setattr("holter.agents.renewing.RENEW_S", 0.01)
    sweep: Any = Heard()

    class Slow(GoingOn):
        def find(self, lease: Lease) -> Found:
            assert sweep.renewed.wait(60)
            return Found()

    data = os.environ["HOLTER_DIR"]
    given = {"method": "grid", "parameters": {"x": {"value": 1}}, "command": [sys.executable, "-c", "pass"]}
    about: dict[str, Any] = {"data": data, "project": "p", "going_on": Slow(data, None)}
    configuration = read_configuration(given)
    runner = (
        ProgramRunner(configuration, environ=os.environ, is_now=lambda: False, **about)
        if kind == "program"
        else FunctionRunner(lambda: None, configuration, **about)
    )
    outcome = runner.run(LEASE, Holder(sweep, Asker(id="a"), lease=LEASE))
    assert outcome is not None
    assert outcome.state == "finished"
