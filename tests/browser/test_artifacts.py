"""Artifacts of a project, and checkpoints of a run."""

import os
import re
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import expect

import holter
from holter.artifacts.book import Absent
from holter.artifacts.sealing import seal
from holter.artifacts.store import Store
from holter.artifacts.wishes import Wanted
from holter.artifacts.working_off import work_off
from tests.artifacts.files import sources, write_safetensors
from tests.browser.axe import serious_findings
from tests.browser.training import record
from tests.browser.watched import Watched
from tests.e2e.programs import data_directory, wait_until
from tests.e2e.servers import Served


def make_artifacts(folder: Path, runs: list[str]) -> Store:
    store = Store(str(data_directory()))
    (data := folder / "data").mkdir()
    (data / "pairs.csv").write_text("prompt,answer\n<b>hi</b>,yes\n")
    seal(store, sources(data), Wanted(project="vision", name="pairs", type="dataset", at_ns=1))
    seal(store, sources(data), Wanted(project="raw", name="corpus", type="dataset", at_ns=1))
    for project, name in (("vision", "pairs"), ("raw", "corpus")):
        with store.change(project, name) as book:
            book.versions[0].used_by.append(runs[0])
    (model := folder / "model").mkdir()
    for number, run in enumerate(runs):
        write_safetensors(model / "adapter.safetensors", {"lora.A": os.urandom(70_000), "frozen": bytes(90_000)})
        (model / "config.json").write_text(f'{{"take": {number}}}')
        wanted = Wanted(
            project="vision",
            name="lora",
            type="model",
            at_ns=1_700_000_000_000_000_000 + number,
            run=run,
            description="adapters, <i>ranked</i> by loss",
            metadata={"eval/loss": 1.25 - number / 100},
        )
        seal(store, sources(model), wanted)
    with store.change("vision", "lora") as book:
        book.miss(Absent("x", 1_700_000_000_000_000_009, "adapter.safetensors changed while it was kept", runs[0]))
        book.versions[0].used_by.append(runs[1])
    store.miss(
        Wanted(project="other", name="lora-awq", type="model", at_ns=2, ask="y", run=runs[1]), "the disk is full"
    )
    return store


def test_versions_are_compared_named_looked_into_and_deleted(
    watched: Watched, server: Served, take: Callable[[str], None], tmp_path: Path
) -> None:
    one, two = record(server, N="one"), record(server, N="two", KILL="1")
    store = make_artifacts(tmp_path, [one, two])
    page = watched.open("/p/vision/artifacts")
    page.get_by_role("navigation", name="Artifacts").get_by_role("link", name=re.compile("^lora")).click()
    expect(page.get_by_role("heading", name="lora", exact=True)).to_be_visible()
    expect(page.get_by_text("adapters, <i>ranked</i> by loss").first).to_be_visible()
    versions = page.get_by_role("region", name="Versions")
    expect(versions).to_contain_text("absent: never half")
    expect(versions).to_contain_text("1.24")
    card = page.get_by_role("region", name="v1", exact=True)
    expect(card.get_by_role("row", name=re.compile("config.json"))).to_contain_text("changed")
    card.get_by_role("link", name="adapter.safetensors", exact=True).click()
    expect(card.get_by_role("row", name=re.compile("lora.A"))).to_contain_text("70,000")

    card.get_by_role("button", name="+ Alias").click()
    card.get_by_role("textbox", name="Alias").fill("best")
    page.keyboard.press("Enter")
    expect(versions.get_by_text("best", exact=True)).to_be_visible()
    assert store.book("vision", "lora").find("best").name == "v1"
    take("artifacts")
    assert serious_findings(page) == []

    versions.get_by_role("link", name="v0").click()
    lineage = page.get_by_role("region", name="Lineage of v0")
    expect(lineage.get_by_role("link", name=re.compile("pairs"))).to_be_visible()
    expect(lineage.get_by_role("link", name="raw/corpus")).to_be_visible()
    expect(lineage.get_by_role("link", name="other/lora-awq")).to_contain_text("absent: never half")
    take("artifacts-lineage")
    with page.expect_download() as whole:
        page.get_by_role("link", name="Download v0", exact=False).first.click()
    with zipfile.ZipFile(whole.value.path()) as archive:
        assert (archive.namelist(), archive.testzip()) == (["adapter.safetensors", "config.json"], None)
        assert archive.read("config.json") == b'{"take": 0}'
    with page.expect_download() as download:
        page.get_by_role("link", name="Download config.json").click()
    assert download.value.path().read_text() == '{"take": 0}'
    page.get_by_role("button", name="More about v0").click()
    page.get_by_role("menuitem", name="Delete v0").click()
    expect(versions).to_contain_text("In the trash for seven days: 1 version")
    versions.get_by_role("button", name="Restore v0").click()
    expect(versions.get_by_role("link", name="v0")).to_be_visible()
    assert store.book("vision", "lora").find("v0").trashed_ns == 0

    page.get_by_role("link", name=re.compile("pairs")).first.click()
    page.get_by_role("link", name="pairs.csv", exact=True).click()
    expect(page.get_by_role("cell", name="<b>hi</b>")).to_be_visible()


def test_checkpoints_are_on_the_time_line_of_their_run_and_a_torn_one_is_none_to_go_on_from(
    watched: Watched, server: Served, take: Callable[[str], None], tmp_path: Path
) -> None:
    with holter.init(project="vision", mode="offline") as run:
        for step in (10, 20, 30):
            write_safetensors(tmp_path / f"{step}.safetensors", {"w": os.urandom(100_000)})
            run.checkpoint(tmp_path / f"{step}.safetensors", step, artifact=False)
        with (tmp_path / "30.safetensors").open("r+b") as file:
            file.truncate(50_000)
    wait_until(lambda: server.state(run.id) != "", within_s=60)
    page = watched.open(f"/p/vision/r/{run.id}/overview")
    card = page.get_by_role("region", name=re.compile("^Checkpoints"))
    expect(card.get_by_role("list", name="Time line").get_by_role("listitem")).to_have_count(3)
    expect(card.get_by_role("heading", name="Go on from step 20")).to_be_visible()
    expect(card).to_contain_text("20.safetensors")
    take("run-checkpoints")
    assert serious_findings(page) == []


def test_a_project_without_artifacts_says_how_to_make_one(watched: Watched, server: Served) -> None:
    record(server, N="one")
    page = watched.open("/p/vision/artifacts")
    expect(page.get_by_role("heading", name="No artifacts yet")).to_be_visible()


def test_a_run_tells_what_it_made_used_and_could_not_make(
    watched: Watched, server: Served, take: Callable[[str], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "m.bin").write_bytes(os.urandom(100_000))
    monkeypatch.setattr("holter.client.artifact_calls.start_worker", lambda data, environment: None)
    with holter.init(project="vision", mode="offline") as run:
        run.log_model(tmp_path / "m.bin", "made")
        work_off(str(data_directory()))
        run.use_artifact("made:latest")
        (tmp_path / "m.bin").write_bytes(os.urandom(100_000))
        run.log_artifact(tmp_path / "m.bin", "changed", type="model", policy="immutable")
        (tmp_path / "m.bin").write_bytes(os.urandom(200_000))
        work_off(str(data_directory()))
        run.log_model(tmp_path / "m.bin", "left")
    wait_until(lambda: server.state(run.id) != "", within_s=60)
    page = watched.open(f"/p/vision/r/{run.id}/overview")
    card = page.get_by_role("region", name=re.compile("^Artifacts"))
    expect(card.get_by_role("link", name="made:v0").first).to_be_visible()
    expect(card).to_contain_text("taken as input")
    expect(card).to_contain_text("absent, never half: m.bin changed while it was kept")
    expect(card).to_contain_text("upload did not complete: 1 file, 195 KiB were to be kept")
    take("run-artifacts")
    assert serious_findings(page) == []
