"""Sweeps that a server keeps: agents need nothing but its address."""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from holter.api.recorded_runs import Api
from holter.errors import NoSweep, Refused, UsageError
from tests.e2e.programs import run, wait_until
from tests.e2e.servers import Served, holter, team_server

CONFIGURATION: dict[str, Any] = {
    "method": "grid",
    "name": "widths",
    "metric": {"name": "loss", "goal": "minimize"},
    "parameters": {"x": {"values": [3, 1, 2]}},
}
FUNCTION = """
import holter

def train():
    with holter.init() as run:
        run.log({"loss": run.config["x"]})

sweep = holter.sweep(%r, project="far")
holter.agent(sweep, function=train)
print(sweep)
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with team_server(tmp_path_factory.mktemp("far") / "data") as served:
        yield served


@pytest.fixture
def api(server: Served) -> Api:
    return Api(server.address, server.key)


def asked(server: Served, path: str, body: object, *, method: str = "POST") -> tuple[int, Any]:
    answer = server.http.request(method, path, json=body)
    return answer.status_code, answer.json()


def test_an_agent_works_at_a_sweep_over_the_network(server: Served, api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    program = run(FUNCTION % CONFIGURATION, HOLTER_URL=server.address, HOLTER_API_KEY=server.key)
    assert program.returncode == 0, program.stderr
    sweep = program.stdout.split()[-1]
    found = server.get(f"/sweeps/{sweep}")
    assert (found["status"], found["best"], found["project"]) == ("finished", 1.0, "far")
    assert sorted(each["params"]["x"] for each in found["rows"]) == [1, 2, 3]
    assert {each["state"] for each in found["rows"]} == {"finished"}
    assert sweep in [each["id"] for each in server.get("/sweeps", project="far")["sweeps"]]
    assert server.get("/sweeps", project="other")["sweeps"] == []
    told = api.sweep(f"team/far/{sweep}")
    assert (told.id, told.name, told.state, told.order) == (sweep, "widths", "FINISHED", "minimize")
    assert [each.number for each in told.trials] == [0, 1, 2]
    assert told.best_trial is not None
    assert told.best_trial.params == {"x": 1}
    monkeypatch.setenv("HOLTER_URL", server.address)
    monkeypatch.setenv("HOLTER_API_KEY", server.key)
    assert json.loads(holter("sweep", "show", sweep, "--json").stdout)["best"] == 1.0


def test_the_server_hands_out_and_fences(server: Served) -> None:
    made = server.post("/sweeps", {"configuration": CONFIGURATION, "project": "far"})["id"]
    one, other = {"id": "a1", "host": "h"}, {"id": "b1", "host": "h"}
    first = server.post(f"/sweeps/{made}/ask", {"asker": one})["lease"]
    second = server.post(f"/sweeps/{made}/ask", {"asker": other})["lease"]
    assert (first["number"], second["number"]) == (0, 1)
    word = {"asker": one, "number": 0, "fence": 1}
    assert server.post(f"/sweeps/{made}/word", {"word": word}) == {"holds": True}
    ended = {**word, "ended": {"state": "crashed", "cause": "killed"}}
    assert server.post(f"/sweeps/{made}/word", {"word": ended})["holds"]
    assert not server.post(f"/sweeps/{made}/word", {"word": ended})["holds"]
    assert server.post(f"/sweeps/{made}/trials", {"params": {"x": 2}})["number"] == 2
    assert asked(server, f"/sweeps/{made}", {"act": "pause"}, method="PATCH")[0] == 200
    assert server.get(f"/sweeps/{made}")["status"] == "paused"
    assert server.post(f"/sweeps/{made}/ask", {"asker": one})["kind"] == "wait"


def test_bounds_are_changed_over_the_network(server: Served, api: Api) -> None:
    given = {**CONFIGURATION, "method": "random", "parameters": {"x": {"min": 0.0, "max": 1.0}}}
    sweep = api.sweep(server.post("/sweeps", {"configuration": given, "project": "far"})["id"])
    sweep.steer("bounds", what="x", bounds=(0.5, 0.75))
    assert [(each["low"], each["high"]) for each in sweep.shown.parameters] == [(0.5, 0.75)]
    with pytest.raises(Refused, match="the lower one first"):
        sweep.steer("bounds", what="x", bounds=(1.0, 0.75))


GOES_ON = """
import os, signal, sys, time
import holter

def train():
    run = holter.init()
    last = holter.resume()
    if last is None:
        run.checkpoint({"epoch": 3}, step=30)
        while not os.path.exists(os.environ["MARK"]):
            time.sleep(0.05)
        os.kill(os.getpid(), signal.SIGKILL)
    assert (last.step, last.path) == (30, os.environ["HOLTER_RESUME_FROM"])
    import pickle
    with open(last.path, "rb") as file:
        run.log({"loss": pickle.load(file)["epoch"]})
    run.finish()

if __name__ == "__main__":
    if len(sys.argv) > 1:
        holter.agent(sys.argv[1], function=train)
    else:
        train()
"""


@pytest.mark.parametrize("kind", ["program", "function"])
def test_a_trial_goes_on_on_another_machine_from_the_checkpoint_that_the_server_has(
    server: Served, tmp_path: Path, kind: str
) -> None:
    (tmp_path / "train.py").write_text(GOES_ON)
    about = {"program": str(tmp_path / "train.py"), "command": ["${interpreter}", "${program}"]}
    given = {**CONFIGURATION, **about, "parameters": {"x": {"value": 1}}}
    sweep = server.post("/sweeps", {"configuration": given, "project": "far"})["id"]
    environ = {**os.environ, "HOLTER_URL": server.address, "HOLTER_API_KEY": server.key, "MARK": str(tmp_path / "mark")}
    words = ["-m", "holter", "agent", sweep] if kind == "program" else [str(tmp_path / "train.py"), sweep]

    def agent(machine: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen([sys.executable, *words], env={**environ, "HOLTER_DIR": str(tmp_path / machine)})

    with agent("one") as first:
        wait_until(lambda: server.http.get(f"/runs/{sweep}-0/checkpoints").status_code == 200, 60)
        name = {"project": "far", "name": f"checkpoint-{sweep}-0"}
        wait_until(lambda: server.http.get("/artifact/book", params=name).status_code == 200, 60)
        first.send_signal(signal.SIGSTOP if kind == "program" else signal.SIGCONT)
        (tmp_path / "mark").touch()
        if kind == "program":
            wait_until(lambda: server.state(f"{sweep}-0") == "crashed", 60)
        else:
            first.wait()
        first.kill()
    shutil.rmtree(tmp_path / "one", ignore_errors=True)
    with agent("two") as second:
        assert second.wait(120) == 0
    [trial] = server.get(f"/sweeps/{sweep}")["rows"]
    assert (trial["state"], trial["value"], trial["attempts"]) == ("finished", 3.0, 2)
    assert list((tmp_path / "two" / "runs" / f"{sweep}-0-2" / "checkpoints").rglob("*.pkl"))


def test_what_can_not_be_is_refused(server: Served, api: Api) -> None:
    made = server.post("/sweeps", {"configuration": CONFIGURATION, "project": "far"})["id"]
    status, said = asked(server, "/sweeps", {"configuration": {"method": "magic"}, "project": "far"})
    assert (status, said["error"]["what"][:24]) == (400, "method: must be one of b")
    assert asked(server, f"/sweeps/{made}/ask", {"asker": {"id": "../../etc"}})[0] == 400
    assert asked(server, f"/sweeps/{made}", {"act": "explode"}, method="PATCH")[0] == 400
    assert asked(server, f"/sweeps/{made}/trials", {"params": {"x": 9}})[0] == 400
    assert server.http.get("/sweeps/nosuch").status_code == 404
    assert server.http.get("/sweeps/..").status_code == 404
    with pytest.raises(UsageError, match="there is no sweep"):
        api.sweep("nosuch")


def test_a_private_project_keeps_its_sweeps(server: Served) -> None:
    data = str(Path(server.output).parent / "data")
    assert holter("server", "users", "add", "eve", "--data", data).returncode == 0
    said = holter("server", "keys", "add", "evening", "--user", "eve", "--scope", "write", "--data", data)
    eve = next(word for word in said.stdout.split() if word.startswith("hk_"))
    made = server.post("/sweeps", {"configuration": CONFIGURATION, "project": "secret"})["id"]
    assert Api(server.address, eve).sweep(made).name == "widths"
    assert holter("server", "projects", "secret", "--private", "--data", data).returncode == 0
    with pytest.raises(NoSweep):
        Api(server.address, eve).sweep(made)
    assert made not in [each.id for each in Api(server.address, eve).sweeps()]
    with pytest.raises(Refused):
        Api(server.address, "hk_none").sweep(made)
