"""The page of a sweep: what it found, what died, who works at it, and how people steer it."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import expect

from holter.sweeps.configuration import read_configuration
from holter.sweeps.opening import KeptSweep, begin_local, open_local
from holter.sweeps.words import Asker, Outcome, Word
from tests.browser.axe import serious_findings
from tests.browser.watched import Watched
from tests.e2e.programs import data_directory, run

CONFIGURATION: dict[str, Any] = {
    "method": "random",
    "name": "lr × batch <b>size</b>",
    "seed": 3,
    "run_cap": 40,
    "metric": {"name": "val/map", "goal": "maximize"},
    "parameters": {
        "lr": {"distribution": "log_uniform_values", "min": 1e-5, "max": 1e-2},
        "batch_size": {"values": [32, 64, 128, 256]},
        "backbone": {"values": ["r50", "r101", "swin-t"]},
    },
}


def asker(number: int) -> Asker:
    return Asker(id=f"agent{number}", host=f"gpu-0{number}", gpu="0", device="A100, 80 GiB")


def tell(desk: KeptSweep, number: int, **word: Any) -> None:
    trial = desk.state().trials[number]
    agent = next(each for each in (asker(1), asker(2)) if trial.last is not None and each.id == trial.last.agent)
    desk.say(Word(asker=agent, number=number, fence=len(trial.attempts), **word))


@pytest.fixture
def sweep() -> str:
    made = begin_local(str(data_directory()), read_configuration(CONFIGURATION), project="nets", by="ada")
    desk = open_local(str(data_directory()), made)
    for turn in range(26):
        lease = desk.ask(asker(1 + turn % 2)).lease
        assert lease is not None
        if turn >= 24:
            tell(desk, lease.number, iteration=4, value=0.2)
        elif lease.params["batch_size"] == 256:
            tell(desk, lease.number, ended=Outcome(state="crashed", cause="gpu-out-of-memory", because="8 of 8 GiB"))
        else:
            tell(desk, lease.number, ended=Outcome(state="finished", value=0.3 + 10 * lease.params["lr"]))
    return made


def test_a_sweep_is_shown_and_steered(sweep: str, watched: Watched, take: Callable[[str], None]) -> None:
    assert run("import holter; holter.init(project='nets').finish()").returncode == 0
    page = watched.open("/p/nets/sweeps")
    page.get_by_role("link", name="lr × batch <b>size</b>").click()
    expect(page.get_by_role("heading", name="lr × batch <b>size</b>")).to_be_visible()
    desk = open_local(str(data_directory()), sweep)
    best = desk.state().best()
    assert best is not None
    expect(page.get_by_label("Figures")).to_contain_text(f"trial {best.number}")
    expect(page.get_by_text("Out of memory at batch_size ≥ 256")).to_be_visible()
    expect(page.get_by_role("link", name="Diagnosis")).to_be_visible()
    trials = page.get_by_role("region", name="Trials")
    expect(trials.get_by_role("row")).to_have_count(27)
    expect(trials.get_by_text("GPU out of memory").first).to_be_visible()
    page.get_by_role("button", name="Running 2").click()
    expect(trials.get_by_role("row")).to_have_count(3)
    page.get_by_role("button", name="All 26").click()
    expect(page.get_by_text("2 working")).to_be_visible()
    expect(page.get_by_role("img", name="Best val/map so far")).to_be_visible()
    matters = page.get_by_role("table", name="What matters for val/map")
    expect(matters.get_by_role("columnheader")).to_have_text(["Parameter", "Share", "Where the best trials lie"])
    expect(matters.get_by_role("row").nth(1)).to_contain_text(re.compile(r"^lr\s*\d+ %"))
    page.get_by_label("Y axis").select_option("backbone")
    assert serious_findings(page) == []
    take("sweep")

    page.get_by_role("button", name="Pause").click()
    expect(page.get_by_role("button", name="Resume")).to_be_visible()
    assert desk.state().status == "paused"
    page.get_by_role("button", name="Resume").click()
    expect(page.get_by_role("button", name="Pause")).to_be_visible()
    page.get_by_role("button", name="Allow again").click()
    expect(page.get_by_text("Out of memory at batch_size ≥ 256")).to_be_hidden()
    page.get_by_role("button", name="Bounds…").click()
    page.get_by_label("Most lr").fill("1e-6")
    page.get_by_role("button", name="Change 1").click()
    expect(page.get_by_text("lr needs two numbers, the lower one first")).to_be_visible()
    page.get_by_label("Most lr").fill("2e-3")
    page.get_by_role("button", name="Change 1").click()
    expect(page.get_by_role("dialog")).to_be_hidden()
    expect(page.get_by_text("lr is searched from 0.00001 to 0.002 from now on")).to_be_visible()
    [lr, *_] = open_local(str(data_directory()), sweep).configuration.parameters
    assert (lr.low, lr.high) == (1e-5, 2e-3)
    page.get_by_role("button", name="Run trial 0 again").click()
    expect(page.get_by_role("button", name="Waiting 1")).to_be_visible()
    assert desk.state().trials[26].params == desk.state().trials[0].params
    page.get_by_role("button", name="Stop").click()
    expect(page.get_by_role("button", name="End trials")).to_be_visible()


def test_what_stopped_a_sweep_and_who_gets_no_trials_is_shown_and_lifted(sweep: str, watched: Watched) -> None:
    assert run("import holter; holter.init(project='nets').finish()").returncode == 0
    desk = open_local(str(data_directory()), sweep)
    fault = Outcome(state="crashed", cause="gpu-fault", because="Xid 79")
    tell(desk, 24, ended=fault)
    page = watched.open(f"/p/nets/sweeps/{sweep}")
    agents = page.get_by_label("Agents")
    expect(agents.get_by_text("gets no trials: gpu-fault").first).to_be_visible()
    agents.get_by_role("button", name="Allow again").click()
    expect(agents.get_by_role("button", name="Allow again")).to_be_hidden()
    assert desk.state().quarantined == {}
    raised: dict[str, Any] = {
        "because": "KeyError: 'layer'",
        "place": "KeyError train.py:7",
        "traceback": 'raise KeyError("layer")',
    }
    for turn in range(3):
        lease = desk.ask(asker(3)).lease
        assert lease is not None
        ended = Outcome(state="failed", cause="uncaught-exception", **raised)
        desk.say(Word(asker=asker(3), number=lease.number, fence=lease.fence, ended=ended))
        assert (desk.state().status == "stopped") == (turn == 2)
    expect(page.get_by_text("3 trials failed at the same place, so it is the code")).to_be_visible()
    expect(page.get_by_text('raise KeyError("layer")')).to_be_visible()


def test_a_project_without_sweeps_says_how_one_begins(watched: Watched) -> None:
    assert run("import holter; holter.init(project='nets').finish()").returncode == 0
    page = watched.open("/p/nets/sweeps")
    expect(page.get_by_text("There are no sweeps in nets yet")).to_be_visible()
