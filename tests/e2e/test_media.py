"""Media from `log()` to whoever looks: whole or absent, whatever is killed, here and on a server."""

import io
import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import holter
from holter.journal.spool import list_entries
from holter.model.media_records import MediaLost
from tests.e2e.programs import data_directory, rows, run, said, sidecars, start, wait_until
from tests.e2e.servers import Served, team_server, ui
from tests.e2e.servers import holter as holter_command

PICTURES = """
import numpy as np, holter, os
run = holter.init(project="media", name="pictures")
for step in range(4):
    pixels = np.full((12, 20, 3), 10 * step, np.uint8)
    picture = holter.Image(pixels, caption=f"step {step}")
    run.log({"loss": 1.0 / (step + 1), "img": picture, "nested": {"deep": holter.Image(pixels)}})
run.log({"several": [holter.Image(np.zeros((4, 4), np.uint8)), holter.Image(np.ones((4, 4), np.uint8))]})
run.log({"weights": holter.Histogram(np_histogram=([1, 2, 3], [0.0, 1.0, 2.0, 3.0]))}, step=10)
run.log({"bad": holter.Image("/nowhere/at/all.png"), "loss": 0.5})
run.summary["best"] = holter.Image(np.full((2, 2), 7, np.uint8))
print(run.id)
"""


@pytest.fixture
def recorded() -> str:
    """A run with media that has ended; its id."""
    ended = run(PICTURES)
    assert ended.returncode == 0, ended.stderr
    assert "'bad' is not kept: No such file or directory: /nowhere/at/all.png" in ended.stderr
    wait_until(lambda: not sidecars(str(data_directory())))
    return ended.stdout.split()[-1]


def pixels_of(data: bytes) -> "np.typing.NDArray[np.uint8]":
    return np.asarray(Image.open(io.BytesIO(data)))


def test_pictures_are_read_back_exact_and_rows_keep_their_numbers(recorded: str) -> None:
    api = holter.Api().run(recorded)
    pictures = api.media("img")
    assert [(each.step, each.caption, each.type) for each in pictures] == [
        (step, f"step {step}", "image") for step in range(4)
    ]
    for step, picture in enumerate(pictures):
        assert (pixels_of(picture.read()) == 10 * step).all()
        assert (picture.meta["width"], picture.meta["height"]) == (20, 12)
    assert [(each.step, each.number) for each in api.media("several")] == [(4, 0), (4, 1)]
    assert len(api.media("nested.deep")) == 4
    directory = str(data_directory() / "runs" / recorded)
    assert [row.values for row in rows(directory)][:2] == [{"loss": 1.0}, {"loss": 0.5}]
    # The same bytes are kept once: `img` and `nested.deep` are the same pictures.
    assert len([each for each in os.listdir(f"{directory}/media") if each.endswith(".png")]) == 7
    assert list_entries(directory) == []
    [lost] = said(directory, MediaLost)
    assert isinstance(lost, MediaLost)
    assert (lost.key, lost.count) == ("bad", 1)


def test_a_medium_is_downloaded_under_a_name_that_leads_nowhere_else(recorded: str, tmp_path: Path) -> None:
    picture = holter.Api().run(recorded).media("img")[1]
    assert picture.download(str(tmp_path)) == str(tmp_path / "img" / "1-0.png")
    assert (pixels_of((tmp_path / "img" / "1-0.png").read_bytes()) == 10).all()


def test_all_media_are_exported_as_files(recorded: str, tmp_path: Path) -> None:
    told = holter_command("export", recorded, "--media", str(tmp_path / "out"))
    assert told.returncode == 0, told.stderr
    assert "1 more were logged and are not there: `holter show` says why" in told.stderr
    shown = holter_command("show", recorded)
    assert (
        "1 of the media 'bad', the last one at step 10: No such file or directory: /nowhere/at/all.png" in shown.stdout
    )
    told_lost = json.loads(holter_command("show", recorded, "--json").stdout)["lost_media"]
    assert [(each["key"], each["count"], each["last"]) for each in told_lost] == [("bad", 1, 10)]
    files = sorted(str(path.relative_to(tmp_path / "out")) for path in (tmp_path / "out").rglob("*-0*.*"))
    assert files == [
        *(f"img/{step}-0.{ext}" for step in range(4) for ext in ("json", "png")),
        "nested.deep/0-0.png",
        "nested.deep/1-0.png",
        "nested.deep/2-0.png",
        "nested.deep/3-0.png",
        "several/4-0.png",
        "summary/best/11-0.png",
        "weights/10-0.histogram.json",
    ]
    assert (tmp_path / "out" / "img" / "2-0.json").read_text() == '{"caption":"step 2"}'
    assert holter.Api().run(recorded).summary["best"] == "media:summary/best"


@pytest.fixture
def served(recorded: str) -> Iterator[Served]:
    with ui() as served:
        wait_until(lambda: served.state(recorded) and len(served.get("/media", runs=recorded)["media"]) == 5)
        yield served


def test_the_server_tells_of_many_runs_at_once_and_gives_their_files(recorded: str, served: Served) -> None:
    told = served.get("/media", runs=f"{recorded},gone-for-ever,../etc")
    assert [(each["key"], each["type"], each["steps"], each["first"], each["last"]) for each in told["media"]] == [
        ("img", "image", 4, 0, 3),
        ("nested.deep", "image", 4, 0, 3),
        ("several", "image", 1, 4, 4),
        ("summary/best", "image", 1, 11, 11),
        ("weights", "histogram", 1, 10, 10),
    ]
    assert [(each["key"], each["count"]) for each in told["lost"][recorded]] == [("bad", 1)]
    asked = {"runs": [recorded, "gone"], "keys": ["img", "several"], "step": 2}
    [entry] = served.post("/media", asked)["entries"]
    assert (entry["step"], entry["items"][0]["meta"]["caption"]) == (2, "step 2")
    answer = served.http.get(f"/runs/{recorded}/files/{entry['items'][0]['path']}")
    assert (pixels_of(answer.content) == 20).all()
    assert "immutable" in answer.headers["cache-control"]
    small = served.http.get(f"/runs/{recorded}/files/{entry['items'][0]['small']}")
    assert pixels_of(small.content).shape == (12, 20, 3)
    assert served.post("/media/steps", {"runs": [recorded], "keys": ["img", "several"]}) == {"steps": [0, 1, 2, 3, 4]}
    [heat] = served.post("/media/histograms", {"runs": [recorded], "key": "weights", "rows": 3})["maps"]
    assert (heat["steps"], heat["low"], heat["high"], heat["counts"]) == ([10], 0, 3, [[0.166667, 0.333333, 0.5]])


REFERRED = """
import numpy as np, holter
def picture(shade):
    return holter.Image(np.full((2, 2), shade, np.uint8))
config = {"input": picture(1), "nested": {"deep": holter.Table(columns=["a"], data=[[1]])}, "lr": 0.5}
run = holter.init(project="media", config=config)
run.config["several"] = [picture(2), picture(3)]
run.config.update({"late": holter.Text("words")})
run.log({"loss": 1.0})
run.summary["best"] = picture(4)
run.summary.update({"chart": holter.plot.bar(holter.Table(columns=["a", "b"], data=[["x", 1]]), "a", "b")})
run.summary["bad"] = holter.Image("/nowhere/at/all.png")
run.summary["worst"] = 0.25
print(run.id)
"""


def test_media_of_the_configuration_and_the_summary_are_references() -> None:
    ended = run(REFERRED)
    assert ended.returncode == 0, ended.stderr
    assert "'summary/bad' is not kept: No such file or directory: /nowhere/at/all.png" in ended.stderr
    wait_until(lambda: not sidecars(str(data_directory())))
    found = holter.Api().run(ended.stdout.split()[-1])
    assert found.config == {
        "input": "media:config/input",
        "nested": {"deep": "media:config/nested.deep"},
        "lr": 0.5,
        "several": "media:config/several",
        "late": "media:config/late",
    }
    told = {"best": "media:summary/best", "chart": "media:summary/chart", "bad": "media:summary/bad", "worst": 0.25}
    assert {key: found.summary[key] for key in told} == told
    for key, shades in (("config/input", [1]), ("config/several", [2, 3]), ("summary/best", [4])):
        assert [int(pixels_of(each.read())[0, 0]) for each in found.media(key)] == shades
    types = {key: found.media(key)[0].type for key in ("config/nested.deep", "config/late", "summary/chart")}
    assert types == {"config/nested.deep": "table", "config/late": "text", "summary/chart": "chart"}


UNTIL_KILLED = """
import numpy as np, holter
run = holter.init(project="media")
step = 0
while True:
    run.log({"img": holter.Image(np.full((64, 64, 3), step % 256, np.uint8))})
    print(step, flush=True)
    step += 1
"""


def test_what_was_logged_before_everything_was_killed_is_made_by_whoever_looks() -> None:
    with start(UNTIL_KILLED) as program:
        assert program.stdout is not None
        while int(program.stdout.readline()) < 30:
            pass
        for pid in sidecars(str(data_directory())):
            os.kill(pid, signal.SIGKILL)
        program.kill()
        logged = [int(line) for line in program.stdout.read().split()]
    last = max([30, *logged])
    [found] = holter.Api().runs()
    pictures = found.media("img")
    assert {each.step for each in pictures} >= set(range(last + 1))
    for each in pictures:
        assert (pixels_of(each.read()) == each.step % 256).all()
    assert list_entries(str(data_directory() / "runs" / found.id)) == []


def test_media_reach_a_server_and_go_with_their_run(
    recorded: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with team_server(tmp_path / "server") as served:
        monkeypatch.setenv("HOLTER_URL", served.address)
        monkeypatch.setenv("HOLTER_API_KEY", served.key)
        told = holter_command("sync", recorded)
        assert told.returncode == 0, told.stderr + told.stdout
        # Its row comes a moment after what it has.
        wait_until(lambda: served.state(recorded) and len(served.get("/media", runs=recorded)["media"]) == 5)
        [entry] = served.post("/media", {"runs": [recorded], "keys": ["img"], "step": 2})["entries"]
        path = entry["items"][0]["path"]
        assert (pixels_of(served.http.get(f"/runs/{recorded}/files/{path}").content) == 20).all()
        there = holter.Api(served.address, served.key).run(recorded).media("img")
        assert [each.caption for each in there] == [f"step {step}" for step in range(4)]
        assert served.http.delete(f"/runs/{recorded}").status_code == 200
        assert served.get("/media", runs=recorded)["media"] == []
        assert served.http.get(f"/runs/{recorded}/files/{path}").status_code == 404


ODD = [
    "..",
    ".",
    "/abs/olute",
    "a//b",
    "a/../../../b",
    "nul\0l",
    "x" * 300,
    "x" * 301,
    "~root/x",
    "c:\\x",
    "a:b",
    "a_b",
]
HOSTILE = f"""
import holter
ODD = {ODD!r}
run = holter.init(project="media")
script = "<script>parent.alert(1)</script>"
table = holter.Table(columns=[script, "../../x"], data=[[script, holter.Html(script, caption=script)]])
for key in ODD:
    run.log({{key: holter.Text(key)}}, step=0)
run.log({{"../../etc/passwd": holter.Text("t", caption=script), script: holter.Html(script), "t": table}})
print(run.id)
"""


def test_hostile_words_lead_nowhere_and_do_nothing(tmp_path: Path) -> None:
    ended = run(HOSTILE)
    assert ended.returncode == 0, ended.stderr
    identity = ended.stdout.split()[-1]
    wait_until(lambda: not sidecars(str(data_directory())))
    told = holter_command("export", identity, "--media", str(tmp_path / "a" / "b" / "out"))
    assert told.returncode == 0, told.stderr
    assert [path.name for path in (tmp_path / "a").rglob("*") if "out" not in path.parts] == ["b"]
    out = tmp_path / "a" / "b" / "out"
    told_apart = sorted(path.read_text() for path in out.rglob("*-0.txt"))
    assert told_apart == sorted([*ODD, "t"])
    for key in ODD:
        holter.Api().run(identity).media(key)[0].download(str(out))
    assert {path.name for path in tmp_path.iterdir()} == {"a", "holter"}
    script = "<script>parent.alert(1)</script>"
    with ui() as served:
        wait_until(lambda: served.state(identity) and len(served.get("/media", runs=identity)["media"]) == 3 + len(ODD))
        [page] = served.post("/media", {"runs": [identity], "keys": [script]})["entries"]
        answer = served.http.get(f"/runs/{identity}/files/{page['items'][0]['path']}")
        rules = answer.headers["content-security-policy"]
        assert "sandbox allow-scripts;" in rules
        assert "allow-same-origin" not in rules
        assert "default-src 'none'" in rules
        assert answer.headers["x-content-type-options"] == "nosniff"
        rows = served.get(f"/runs/{identity}/table", key="t")
        assert [column["name"] for column in rows["columns"]] == [script, "../../x"]
        assert (rows["rows"][0][0], rows["rows"][0][1]["_type"]) == (script, "html")
        for path in ("media/..%2f..%2fx", "media/../spool", "spool/x", "media/" + "0" * 64 + ".png"):
            assert served.http.get(f"/runs/{identity}/files/{path}").status_code in (400, 404)
