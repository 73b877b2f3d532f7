"""What those who run a server see of it: probes, figures, the access log; and who was revoked is out."""

import json
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import promql_parser
import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from holter.server.process import access_log
from holter.server.process.access_log import AccessLog
from holter.server.process.tally import Note
from holter.storage.opening import load_engine
from holter.storage.places import FILE, NAMES, choose_places, read_places
from tests.e2e.programs import wait_until
from tests.e2e.servers import Served, holter, team_server

ROOT = Path(__file__).parents[2]
OCTETS = {"content-type": "application/octet-stream"}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    place = tmp_path_factory.mktemp("operation")
    with team_server(place / "team", "--access-log", str(place / "access.log")) as served:
        yield served


@pytest.fixture
def log(server: Served) -> Path:
    return server.output.parent / "access.log"


def figures(server: Served) -> dict[str, float]:
    """By name and labels."""
    answer = httpx.get(f"{server.address}/metrics", headers=server.authorization)
    assert (answer.status_code, answer.headers["content-type"]) == (200, "text/plain; version=0.0.4; charset=utf-8")
    found = {}
    for family in text_string_to_metric_families(answer.text):
        for sample in family.samples:
            labels = ",".join(f"{name}={value}" for name, value in sorted(sample.labels.items()))
            found[f"{sample.name}{{{labels}}}"] = sample.value
    return found


def names(server: Served) -> set[str]:
    return {name.partition("{")[0] for name in figures(server)}


def test_a_probe_needs_no_key(server: Served) -> None:
    alive = httpx.get(f"{server.address}/healthz")
    assert (alive.status_code, alive.text) == (200, "ok\n")
    ready = httpx.get(f"{server.address}/readyz")
    assert (ready.status_code, ready.json()["ready"], ready.json()["because"]) == (200, True, [])
    assert set(ready.json()) == {"ready", "because", "index_lag_s", "disk_free_bytes"}
    assert httpx.head(f"{server.address}/healthz").status_code == 200


def test_figures_are_for_those_with_a_key_and_count_what_was_asked(server: Served) -> None:
    assert httpx.get(f"{server.address}/metrics").status_code == 401
    before = figures(server)
    server.http.get("/runs")
    server.http.get("/runs/none")
    path = "/ingest/r1/transcripts/output.log"
    assert server.http.post(path, params={"offset": 0}, content=b"printed\n", headers=OCTETS).status_code == 200
    after = figures(server)

    def grown(name: str) -> float:
        return after[name] - before.get(name, 0)

    assert grown("holter_requests_total{method=GET,route=/runs,status=200}") == 1
    assert grown("holter_requests_total{method=GET,route=/runs/{run},status=404}") == 1
    assert grown("holter_requests_total{method=POST,route=/ingest/{run}/transcripts/{name},status=200}") == 1
    assert grown("holter_received_bytes_total{}") == 8
    assert grown("holter_request_seconds_count{kind=ingest}") == 1
    assert after["holter_request_seconds_bucket{kind=read,le=+Inf}"] == after["holter_request_seconds_count{kind=read}"]
    assert after["holter_index_healthy{}"] == 1
    assert after["holter_connections{who=known}"] >= 1
    assert 0 < after["process_open_fds{}"] < after["process_max_fds{}"]
    wait_until(lambda: figures(server)["holter_index_lag_seconds{}"] == 0)


def test_every_figure_is_documented_and_every_documented_one_is_there(server: Served) -> None:
    server.http.get("/runs")
    documented = set(re.findall(r"`((?:holter|process)_\w+)", (ROOT / "docs" / "operation.md").read_text()))
    there = {re.sub(r"_(bucket|sum|count)$", "", name) for name in names(server)}
    assert documented == there


def metrics_in(expression: str) -> set[str]:
    """The names that a query asks for; it fails where it is none."""
    promql_parser.parse(expression)
    return set(re.findall(r"\b(?:holter|process)_\w+", expression))


def test_the_dashboard_asks_for_figures_that_there_are(server: Served) -> None:
    board = json.loads((ROOT / "deploy" / "grafana-dashboard.json").read_text())
    queries = [target["expr"] for panel in board["panels"] for target in panel["targets"]]
    asked = {name for query in queries for name in metrics_in(query)}
    assert asked <= names(server)
    assert len(queries) >= 10
    assert len({panel["id"] for panel in board["panels"]}) == len(board["panels"])
    places = [tuple(panel["gridPos"][name] for name in "xywh") for panel in board["panels"]]
    cells = [(x + i, y + j) for x, y, w, h in places for i in range(w) for j in range(h)]
    assert (len(cells), max(x for x, _ in cells)) == (len(set(cells)), 23)


def test_the_alerts_ask_for_figures_that_there_are(server: Served) -> None:
    rules = (ROOT / "deploy" / "prometheus-rules.yml").read_text()
    import yaml

    found = [rule["expr"] for group in yaml.safe_load(rules)["groups"] for rule in group["rules"]]
    assert len(found) >= 4
    assert {name for query in found for name in metrics_in(query)} <= names(server)


def lines(log: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in log.read_text().splitlines()]


def test_the_access_log_has_a_line_for_each_request_and_no_secret_in_it(server: Served, log: Path) -> None:
    server.http.get("/runs", params={"filter": "config.password = 'hunter2'"})
    httpx.get(f"{server.address}/hunter2/x?token={server.key}", headers={"user-agent": "hunter2", "referer": "hunter2"})
    server.http.post("/login", json={"key": server.key})
    server.http.get("/runs/r-17")
    wait_until(lambda: any(line.get("run") == "r-17" for line in lines(log)))
    found = lines(log)
    [seen] = [line for line in found if line.get("run") == "r-17"]
    assert (seen["method"], seen["route"], seen["status"]) == ("GET", "/runs/{run}", 404)
    assert (seen["address"], seen["key"]) == ("127.0.0.1", server.key.split("_")[1])
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", str(seen["at"]))
    assert {"page", "/login"} <= {line["route"] for line in found}
    assert "hunter2" not in log.read_text()
    assert server.key not in log.read_text()
    assert log.stat().st_mode & 0o077 == 0


def test_the_access_log_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(access_log, "FILE_BYTES", 10_000)
    said: list[str] = []
    log = AccessLog(str(tmp_path / "access.log"), said.append)
    for number in range(1000):
        log.add(Note(float(number), "GET", "192.0.2.1", route="/runs", status=200))
    log.close()
    sizes = [path.stat().st_size for path in tmp_path.iterdir()]
    assert (len(sizes), max(sizes) <= 10_000, said) == (access_log.FILES, True, [])
    assert lines(tmp_path / "access.log")[-1]["at"] == "1970-01-01T00:16:39.000Z"


def test_an_access_log_that_can_not_be_written_is_said_at_the_start(tmp_path: Path) -> None:
    told = holter("server", "--data", str(tmp_path / "team"), "--port", "0", "--access-log", "/nowhere/access.log")
    assert (told.returncode, "--access-log /nowhere/access.log can't be written" in told.stderr) == (2, True)


def test_a_stream_ends_with_its_key_also_when_another_process_revokes_it(server: Served) -> None:
    made = server.post("/tokens", {"name": "guest", "scope": "read"})
    guest = {"authorization": f"Bearer {made['key']}"}
    data = str(server.output.parent / "team")
    with httpx.stream("GET", f"{server.address}/api/v1/events", headers=guest, timeout=60) as live:
        received = live.iter_lines()
        assert next(received).startswith("id: ")
        assert holter("server", "keys", "revoke", made["id"], "--data", data).returncode == 0
        # Without a keep-alive: that would come after 15 s, and be too late.
        assert ": keep-alive" not in list(received)


@pytest.mark.skipif(sys.platform != "linux", reason="not on this platform: no systemd")
def test_systemd_understands_the_unit(tmp_path: Path) -> None:
    unit = tmp_path / "holter.service"
    text = (ROOT / "deploy" / "holter.service").read_text()
    unit.write_text(text.replace("/opt/holter/bin/holter", shutil.which("true") or ""))
    command = ["systemd-analyze", "verify", "--man=no", str(unit)]
    checked = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (checked.returncode, checked.stdout + checked.stderr) == (0, "")


def test_the_container_file_is_without_fault() -> None:
    checked = subprocess.run(
        [str(Path(sys.executable).with_name("hadolint")), str(ROOT / "deploy" / "Containerfile")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (checked.returncode, checked.stdout + checked.stderr) == (0, "")


def test_the_servers_of_the_compose_file_are_begun_with_what_there_is(tmp_path: Path) -> None:
    composed = yaml.safe_load((ROOT / "deploy" / "compose.yaml").read_text())
    holter_ = composed["services"]["holter"]
    options = {word for word in holter_["command"] if word.startswith("--")}
    assert options <= set(re.findall(r"--[a-z-]+", holter("server", "--help").stdout))
    [mounted] = holter_["volumes"]
    assert mounted == f"./{FILE}:/data/{FILE}:ro"
    shutil.copy(ROOT / "deploy" / FILE, tmp_path)
    places = choose_places(read_places(str(tmp_path)), "sqlite:/data/index")
    named = {name: getattr(places, name) for name in NAMES if getattr(places, name)}
    assert {urlsplit(url).hostname for name, url in named.items() if name != "blobs"} <= set(composed["services"])
    assert "http://store:8333" in places.blobs
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    wanted = {load_engine(url).EXTRA for url in named.values()}  # type: ignore[attr-defined]  # of those that need one
    assert wanted == set(holter_["build"]["args"]["EXTRAS"].strip("[]").split(","))
    assert wanted <= set(extras)


@pytest.mark.parametrize("name", ["holter.service", "Containerfile"])
def test_what_is_deployed_has_only_options_that_there_are(name: str) -> None:
    told = holter("server", "--help").stdout
    used = set(re.findall(r"(?<=\s)--[a-z-]+", _holter_words((ROOT / "deploy" / name).read_text())))
    assert used
    assert used <= set(re.findall(r"--[a-z-]+", told))


def _holter_words(text: str) -> str:
    """What comes after `server` in the lines that start it."""
    joined = re.sub(r"\\\n\s*", " ", text).replace('", "', " ").replace('"', " ")
    found = re.findall(r"(?:ExecStart=\S*|ENTRYPOINT \[\s*)\s*(?:holter )?server(.*)", joined)
    return " ".join(found)
