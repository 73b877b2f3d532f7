"""`holter ui` with real runs that are being written and killed: tables, charts, consoles, files, live changes."""

import gzip
import json
import re
import signal
from collections.abc import Iterator
from pathlib import Path

import httpx
import numpy as np
import pytest
import zstandard

from tests.e2e.programs import Program, data_directory, run, start, wait_until
from tests.e2e.servers import Served, Stream, holter, start_holter, stream, ui

TRAINING = """
import os, sys, time, holter
config = {"lr": float(os.environ.get("LR", "0.1"))}
run = holter.init(project=os.environ.get("P", "mnist"), name=os.environ.get("N"), config=config)
print("id", run.id, flush=True)
for step in range(int(os.environ.get("STEPS", "100"))):
    run.log({"loss": 1 / (step + 1), "odd": float("nan") if step % 2 else step})
    print("step", step, flush=True)
    time.sleep(float(os.environ.get("PAUSE", "0")))
if os.environ.get("RAISE"):
    raise ValueError("boom")
"""
ONE = {"count": 1, "mean": 0.01, "std": 0.0}
ENDLESS = {"STEPS": "100000", "PAUSE": "0.05"}


@pytest.fixture
def server() -> Iterator[Served]:
    with ui() as served:
        yield served


def begin(**environment: str) -> tuple[Program, str]:
    program = start(TRAINING, **{**ENDLESS, **environment})
    assert program.stdout is not None
    return program, program.stdout.readline().split()[1]


def record(**environment: str) -> str:
    return run(TRAINING, **environment).stdout.split()[1]


def ended(server: Served, run_id: str) -> bool:
    answer = server.http.get(f"/runs/{run_id}")
    return answer.status_code == 200 and answer.json()["state"] != "running" and answer.json()["rows"] > 0


def test_runs_are_listed_filtered_sorted_and_counted(server: Served) -> None:
    good, bad = record(LR="0.1", N="good"), record(LR="0.2", N="bad", RAISE="1")
    wait_until(lambda: ended(server, good) and ended(server, bad))
    wait_until(lambda: any(each["cause"] for each in server.get("/runs")["runs"]))  # its sidecar says so a moment later
    table = server.get("/runs", sort="config.lr", columns="config.lr,summary.loss")
    assert [(each["id"], each["state"], each["values"]) for each in table["runs"]] == [
        (good, "finished", {"config.lr": 0.1, "summary.loss": 0.01}),
        (bad, "failed", {"config.lr": 0.2, "summary.loss": 0.01}),
    ]
    only = server.get("/runs", filter="state = failed and config.lr > 0.15", project="mnist")
    assert (only["total"], only["runs"][0]["cause"]) == (1, "uncaught-exception")
    others = server.get("/runs", project="mnist", without=f"{good},nobody")
    assert (others["total"], [each["id"] for each in others["runs"]]) == (1, [bad])
    assert server.get("/runs", project="other") == {"total": 0, "runs": []}
    assert [each["id"] for each in server.get("/runs", filter="GOOD 0.1")["runs"]] == [good]
    assert {"config.lr", "summary.loss"} <= set(server.get("/fields", project="mnist")["fields"])
    assert server.get("/groups", project="mnist", by="config.lr", columns="summary.loss", sort="-config.lr") == {
        "total": 2,
        "groups": [
            {"value": value, "runs": 1, "states": {state: 1}, "columns": {"summary.loss": same}}
            for value, state, same in [(0.2, "failed", ONE), (0.1, "finished", ONE)]
        ],
    }
    assert server.http.get("/groups", params={"project": "mnist", "by": "sate"}).status_code == 400
    assert server.get("/projects")["projects"][0] | {"last_at": 0} == {
        "name": "mnist",
        "runs": 2,
        "running": 0,
        "died_today": 1,
        "last_at": 0,
    }
    assert [each["run"]["id"] for each in server.get("/attention")["runs"]] == [bad]
    [group] = server.get("/crashes")["groups"]
    assert (group["cause"], [each["id"] for each in group["runs"]]) == ("uncaught-exception", [bad])


def test_a_wrong_filter_is_told_with_its_place(server: Served) -> None:
    answer = server.http.get("/runs", params={"filter": "state = = failed"})
    assert (answer.status_code, answer.json()["error"]["at"]) == (400, 8)


def unchanged(server: Served, run_id: str) -> bool:
    [(about, _)] = server.series(runs=[run_id], keys=["loss"], buckets=10)
    return server.series(runs=[run_id], keys=["loss"], since={run_id: about["seq"]}) == []


def test_series_come_as_columns_that_can_be_decoded(server: Served) -> None:
    run_id = record()
    wait_until(lambda: ended(server, run_id))
    (about, loss), (_, odd) = server.series(runs=[run_id], keys=["loss", "odd"], buckets=10)
    assert (about["run"], about["key"], about["points"], about["has_nan"]) == (run_id, "loss", 100, False)
    assert loss["first"].tolist() == [0, 10, 20, 30, 40, 50, 60, 70, 80, 90]
    assert loss["max"][0] == 1.0
    assert loss["value"][-1] == 0.01
    assert loss["count"].tolist() == [10] * 10
    assert odd["marks"].tolist() == [1] * 10
    assert np.isnan(odd["value"]).all()
    assert odd["max"][-1] == 98
    [(relative, columns)] = server.series(runs=[run_id], keys=["loss"], x="relative", buckets=5)
    assert relative["points"] == 100
    assert 0 <= columns["first"][0] <= columns["last"][-1] < 60
    # The sidecar's own last words may still arrive, and count.
    wait_until(lambda: unchanged(server, run_id))


def test_raw_points_come_one_by_one(server: Served) -> None:
    from holter.wire.binary_columns import decode_tables

    run_id = record()
    wait_until(lambda: ended(server, run_id))
    answer = server.http.get(f"/runs/{run_id}/points", params={"keys": "loss", "from": 10, "to": 12})
    [(about, columns)] = decode_tables(answer.content)
    assert about["points"] == 3
    assert columns["step"].tolist() == [10, 11, 12]
    assert columns["value"].tolist() == [1 / 11, 1 / 12, 1 / 13]


def test_runs_with_the_same_setting_are_one_line(server: Served) -> None:
    runs = [record(LR=lr) for lr in ("0.1", "0.1", "0.2")]
    wait_until(lambda: all(ended(server, each) for each in runs))
    lines = server.series(runs=runs, keys=["loss"], buckets=10, group="config.lr")
    assert [(about["group"], about["runs"]) for about, _ in lines] == [(0.1, runs[:2]), (0.2, runs[2:])]


def test_all_about_a_run(server: Served) -> None:
    run_id = record(RAISE="1")
    wait_until(lambda: ended(server, run_id))
    wait_until(lambda: server.get(f"/runs/{run_id}")["has_console"])
    shown = server.get(f"/runs/{run_id}")
    assert (shown["config"], shown["summary"]["loss"], shown["rows"]) == ({"lr": 0.1}, 0.01, 100)
    assert [(each["attempt"], each["state"]) for each in shown["attempts"]] == [(1, "failed")]
    keys = {each["key"]: each["points"] for each in server.get(f"/runs/{run_id}/keys")["keys"]}
    assert (keys["loss"], keys["odd"]) == (100, 100)
    assert any(key.startswith("system/") for key in keys) or len(keys) == 2
    assert {
        "key": "loss",
        "runs": 1,
        "is_counter": False,
        "x_axis": "",
        "is_hidden": False,
        "better": "",
    } in server.get("/keys", project="mnist")["keys"]
    verdict = server.get(f"/runs/{run_id}/verdict")
    told = json.loads(holter("why", run_id, "--json").stdout)
    assert (verdict["cause"], verdict["title"]) == (told["cause"], told["title"])
    assert server.http.get("/runs/nobody").status_code == 404


def test_the_console_by_range_tail_and_search(server: Served) -> None:
    run_id = record()
    wait_until(lambda: ended(server, run_id))
    wait_until(lambda: server.get(f"/runs/{run_id}/console", tail=1)["total"] >= 101)
    page = server.get(f"/runs/{run_id}/console", first=1, count=2)
    assert [(line["n"], line["text"], line["stream"]) for line in page["lines"]] == [
        (1, "step 0", "stdout"),
        (2, "step 1", "stdout"),
    ]
    hits = server.get(f"/runs/{run_id}/console", search="STEP 9", after=11, count=2)
    assert [line["text"] for line in hits["lines"]] == ["step 90", "step 91"]
    assert server.http.get("/runs/nobody/console").status_code == 404


@pytest.mark.parametrize("accepted", ["gzip", "zstd", "identity"])
def test_a_large_answer_is_packed_for_those_who_can_unpack_it(server: Served, accepted: str) -> None:
    source = "import holter\nholter.init(id='talks')\nfor number in range(1000):\n    print('line', number)\n"
    assert run(source).returncode == 0
    wait_until(lambda: server.http.get("/runs/talks").status_code == 200)
    wait_until(lambda: len(server.get("/runs/talks/console", tail=2000)["lines"]) == 1000)
    with server.http.stream(
        "GET", "/runs/talks/console", params={"tail": 2000}, headers={"accept-encoding": accepted}
    ) as answer:
        sent = b"".join(answer.iter_raw())
    assert answer.headers.get("content-encoding", "identity") == accepted
    assert int(answer.headers["content-length"]) == len(sent)
    match accepted:
        case "gzip":
            unpacked = gzip.decompress(sent)
        case "zstd":
            unpacked = zstandard.decompress(sent)
        case _:
            unpacked = sent
    assert [line["text"] for line in json.loads(unpacked)["lines"]] == [f"line {number}" for number in range(1000)]


def test_files_come_whole_in_ranges_and_harmless(server: Served) -> None:
    run_id = record()
    wait_until(lambda: ended(server, run_id))
    folder = data_directory() / "runs" / run_id / "files"
    folder.mkdir()
    (folder / "page.html").write_text("<script>alert(1)</script>")
    (folder / "drawing.svg").write_text("<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>")
    (folder / "model.bin").write_bytes(bytes(range(256)) * 4000)
    listed = {each["path"]: each["kind"] for each in server.get(f"/runs/{run_id}/files")["files"]}
    assert (listed["files/page.html"], listed["output.log"]) == ("html", "text")
    assert not [path for path in listed if path.endswith(".seg")]
    for name, kind in (("page.html", "text/html"), ("drawing.svg", "image/svg+xml")):
        page = server.http.get(f"/runs/{run_id}/files/files/{name}")
        assert page.headers["content-type"].startswith(kind)
        assert page.headers["content-security-policy"].startswith("sandbox; default-src 'none'")
        assert page.headers["x-content-type-options"] == "nosniff"
    model = server.http.get(f"/runs/{run_id}/files/files/model.bin")
    assert model.headers["content-disposition"].startswith("attachment")
    assert model.content == bytes(range(256)) * 4000
    part = server.http.get(f"/runs/{run_id}/files/files/model.bin", headers={"range": "bytes=10-12"})
    assert (part.status_code, part.content, part.headers["content-range"]) == (
        206,
        bytes([10, 11, 12]),
        "bytes 10-12/1024000",
    )
    head = server.http.head(f"/runs/{run_id}/files/files/model.bin")
    assert (head.status_code, head.headers["content-length"], head.content) == (200, "1024000", b"")
    assert server.http.head("/events").status_code == 200
    beyond = server.http.get(f"/runs/{run_id}/files/files/model.bin", headers={"range": "bytes=2000000-"})
    assert beyond.status_code == 416


def test_a_death_is_announced_with_its_cause_on_the_live_stream(server: Served) -> None:
    with stream(server) as live:
        assert live.next()[0] == "hello"
        program, run_id = begin()
        with program:
            live.wait_for("run", id=run_id, state="running")
            live.wait_for("rows", run=run_id)
            program.send_signal(signal.SIGKILL)
            program.communicate()
            live.wait_for("run", id=run_id, state="crashed")
            assert live.wait_for("verdict", run=run_id)["cause"] in ("killed", "unknown")


def test_a_stream_goes_on_where_it_broke_off(server: Served) -> None:
    with stream(server) as live:
        live.next()
        last_id = live.last_id
    first = record(N="while-away")
    wait_until(lambda: ended(server, first))
    with stream(server, last_id) as live:
        assert live.wait_for("run", id=first)["name"] == "while-away"


def test_a_stream_that_missed_too_much_begins_anew(server: Served) -> None:
    with stream(server, 17) as live:
        assert live.next() == ("reset", {})
        seen: Stream = live
        assert seen.last_id > 17


def test_a_stream_has_only_what_was_asked_for(server: Served) -> None:
    with stream(server, project="wanted") as live:
        live.next()
        record(P="other")
        record(P="wanted")
        kind, data = live.next()
        assert (kind, data["project"]) == ("run", "wanted")


def test_a_mark_and_its_undo_are_seen_at_once_and_by_commands(server: Served) -> None:
    run_id = record(RAISE="1")
    wait_until(lambda: ended(server, run_id))
    marked = server.post(f"/runs/{run_id}/marks", {"state": "crashed", "reason": "the node was broken"})
    assert [(mark["state"], mark["reason"]) for mark in marked["marks"]] == [("crashed", "the node was broken")]
    shown = server.get(f"/runs/{run_id}")
    assert (shown["state"], shown["own_state"], shown["mark"]["state"]) == ("crashed", "failed", "crashed")
    assert [each["id"] for each in server.get("/runs", filter="state = crashed")["runs"]] == [run_id]
    assert json.loads(holter("ls", "--json").stdout)["runs"][0]["state"] == "crashed"
    assert server.http.delete(f"/runs/{run_id}/marks").status_code == 200
    assert server.get(f"/runs/{run_id}")["state"] == "failed"


def test_what_a_person_says_of_the_cause_stands_beside_the_verdict_everywhere(server: Served) -> None:
    run_id = record(RAISE="1")
    wait_until(lambda: ended(server, run_id) and server.get(f"/runs/{run_id}")["cause"])  # said a moment after its end
    known = {each["cause"]: each["in_short"] for each in server.get("/causes")["causes"]}
    assert known["gpu-out-of-memory"]
    assert "memory-leak" not in known
    asked = {"cause": "gpu-out-of-memory", "reason": "nvidia-smi showed 79/80 GB"}
    [told] = server.post(f"/runs/{run_id}/marks", asked)["marks"]
    assert (told["cause"], told["state"]) == ("gpu-out-of-memory", "")
    shown, verdict = server.get(f"/runs/{run_id}"), server.get(f"/runs/{run_id}/verdict")
    assert (shown["cause"], shown["mark"], verdict["cause"]) == ("uncaught-exception", None, "uncaught-exception")
    assert shown["cause_mark"] == verdict["cause_mark"]
    assert verdict["cause_mark"] | {"at": 0, "by": ""} == asked | {"verdict": "uncaught-exception", "at": 0, "by": ""}
    [listed] = json.loads(holter("ls", "--json").stdout)["runs"]
    assert (listed["cause"], listed["cause_mark"]) == ("uncaught-exception", verdict["cause_mark"])
    assert "says that it was gpu-out-of-memory: nvidia-smi showed 79/80 GB" in holter("show", run_id).stdout
    server.post(f"/runs/{run_id}/marks", {"state": "crashed", "reason": "the node was broken"})
    assert server.http.delete(f"/runs/{run_id}/marks", params={"what": "cause"}).status_code == 200
    assert (server.get(f"/runs/{run_id}/verdict")["cause_mark"], server.get(f"/runs/{run_id}")["state"]) == (
        None,
        "crashed",
    )
    for wrong in ({"reason": "x"}, {"cause": "gremlins", "reason": "x"}, {"cause": "none", "reason": " "}):
        assert server.http.post(f"/runs/{run_id}/marks", json=wrong).status_code == 400


def test_a_run_that_lives_can_be_neither_marked_nor_deleted(server: Served) -> None:
    program, run_id = begin()
    with program:
        wait_until(lambda: server.http.get(f"/runs/{run_id}").status_code == 200)
        assert server.http.post(f"/runs/{run_id}/marks", json={"state": "failed", "reason": "x"}).status_code == 400
        assert server.http.delete(f"/runs/{run_id}").status_code == 409
        assert server.http.delete(f"/runs/{run_id}", params={"force": "true"}).status_code == 409
        program.kill()


def test_a_run_is_renamed_and_deleted(server: Served) -> None:
    run_id = record()
    wait_until(lambda: ended(server, run_id))
    answer = server.http.patch(f"/runs/{run_id}", json={"name": "otter", "tags": ["best"], "notes": "look here"})
    assert answer.status_code == 200
    assert server.get(f"/runs/{run_id}")["name"] == "otter"
    assert json.loads(holter("ls", "--json").stdout)["runs"][0]["tags"] == ["best"]
    wait_until(lambda: server.http.delete(f"/runs/{run_id}").status_code == 200)
    assert server.http.get(f"/runs/{run_id}").status_code == 404
    assert server.get("/runs")["total"] == 0
    assert not (data_directory() / "runs" / run_id).exists()


STOPPED = """
import os, time, holter
run = holter.init(settings={"allow_stop": os.environ["ALLOW"] == "1"})
print("id", run.id, flush=True)
try:
    for step in range(200):
        run.log({"x": step})
        time.sleep(0.05)
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


@pytest.mark.parametrize(("allowed", "last_word"), [("1", "interrupted"), ("0", "")])
def test_a_wish_to_stop_interrupts_only_where_that_is_allowed(server: Served, allowed: str, last_word: str) -> None:
    with start(STOPPED, ALLOW=allowed) as program:
        assert program.stdout is not None
        run_id = program.stdout.readline().split()[1]
        wait_until(lambda: server.http.get(f"/runs/{run_id}").status_code == 200)
        assert server.post(f"/runs/{run_id}/stop", {"reason": "too hot"}) == {"asked": True}
        out, err = program.communicate(timeout=60)
    assert out.strip() == last_word
    assert "to stop: too hot" in err


def test_a_second_ui_for_the_same_runs_leads_to_the_first(server: Served) -> None:
    second = holter("ui", "--no-browser")
    assert second.returncode == 0
    assert f"{server.address}/?token={server.key}" in second.stdout


def test_of_several_that_begin_at_once_for_the_same_runs_one_serves_and_the_others_lead_to_it(tmp_path: Path) -> None:
    record()
    outputs = [tmp_path / f"ui{number}.out" for number in range(4)]
    started = [start_holter("ui", "--no-browser", "--port", "0", output=output) for output in outputs]
    try:
        wait_until(lambda: sum(each.poll() is None for each in started) == 1, within_s=60)
        wait_until(lambda: all("token=" in output.read_text() for output in outputs), within_s=60)
        [url] = {re.search(r"http://\S+token=\w+", output.read_text())[0] for output in outputs}  # type: ignore[index]  # seen above
        assert sorted(each.poll() or 0 for each in started) == [0] * 4
        token = url.partition("token=")[2]
        api = url.partition("?")[0] + "api/v1/runs"
        wait_until(lambda: httpx.get(api, headers={"authorization": f"Bearer {token}"}).json()["total"] == 1)
    finally:
        for each in started:
            each.terminate()
            each.wait(60)
    assert "Traceback" not in "".join(output.read_text() for output in outputs)


def test_the_next_port_is_used_where_the_usual_one_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with ui("--no-browser") as first:
        monkeypatch.setenv("HOLTER_DIR", str(tmp_path / "another"))
        (tmp_path / "another").mkdir()
        with ui("--no-browser") as second:
            assert first.address != second.address
        port = first.address.rpartition(":")[2]
        refused = holter("ui", "--no-browser", "--port", port)
        assert refused.returncode == 2
        assert f"port {port} of 127.0.0.1 is taken" in refused.stderr
        assert "a port is a number" in holter("ui", "--port", "99999").stderr


def test_ctrl_c_ends_it_cleanly_also_with_open_streams(server: Served) -> None:
    with stream(server) as live:
        live.next()
        server.process.send_signal(signal.SIGINT)
        assert server.process.wait(60) == 0
    assert "Traceback" not in server.output.read_text()


def test_the_data_directory_is_closed_to_others(server: Served) -> None:
    assert data_directory().stat().st_mode & 0o077 == 0
    assert [path.name for path in (data_directory() / "access").iterdir() if path.stat().st_mode & 0o077] == []
