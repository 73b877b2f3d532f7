"""A server that is killed, whose disk is full, whose index is damaged; and what is received of runs elsewhere."""

import hashlib
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import zstandard

from holter.journal.digest import read_opened
from holter.journal.frame import HEADER_SIZE, decode_header
from holter.journal.rundir import list_segments
from tests.e2e.programs import data_directory, run, start, wait_until
from tests.e2e.servers import Served, holter, team_server, ui
from tests.e2e.test_full_disk import mount, unmount

TRAINING = """
import holter
run = holter.init(project="far", config={"lr": 0.5})
for step in range(5000):
    run.log({"loss": 1 / (step + 1)})
print(run.id)
"""
WRITING = """
import holter, time
run = holter.init(id="w1")
for step in range(100_000):
    run.log({"loss": step})
    time.sleep(0.001)
"""
INDEX = ("runs.db", "series.db", "console.db")
PACKED = {"content-type": "application/zstd"}


@pytest.fixture
def recorded() -> str:
    return run(TRAINING).stdout.strip()


def journals(run_id: str) -> dict[str, bytes]:
    """The journals of a run as one range of bytes each."""
    directory = str(data_directory() / "runs" / run_id)
    found = {}
    for journal, paths in list_segments(directory).items():
        data = b""
        for path in map(Path, paths):
            segment = path.read_bytes()
            data += bytes(decode_header(segment[:HEADER_SIZE]).base - len(data)) + segment
        found[journal] = data
    return found


def program_journal(run_id: str) -> tuple[str, bytes]:
    """The journal with the rows, and not the one of the sidecar."""
    segments = list_segments(str(data_directory() / "runs" / run_id))
    opened = {journal: read_opened(paths[0]) for journal, paths in segments.items()}
    [journal] = [journal for journal, each in opened.items() if each is not None and each.writer == "client"]
    return journal, journals(run_id)[journal]


def send(server: Served, run_id: str, journal: str, *, offset: int, data: bytes) -> int:
    """Returns what the server has then: some bytes less where they could be the beginning of a segment."""
    answer = server.http.post(
        f"/ingest/{run_id}/journals/{journal}",
        params={"offset": offset},
        content=zstandard.compress(data),
        headers=PACKED,
    )
    assert answer.status_code == 200, answer.text
    return int(answer.json()["offset"])


def send_all(server: Served, run_id: str, journal: str, *, data: bytes, have: int = 0) -> None:
    while have < len(data):
        have = send(server, run_id, journal, offset=have, data=data[have:])


def steps(server: Served, run_id: str) -> int:
    [(about, columns)] = server.series(runs=[run_id], keys=["loss"], buckets=100)
    assert columns["count"].sum() == about["points"]
    return int(about["points"])


def test_a_run_of_another_machine_is_received_once_whatever_is_sent_twice(recorded: str, tmp_path: Path) -> None:
    with team_server(tmp_path / "team") as server:
        for journal, data in journals(recorded).items():
            half = len(data) // 2
            assert send(server, recorded, journal, offset=half, data=data[half:]) == 0
            have = send(server, recorded, journal, offset=0, data=data[:half])
            # What looks like the beginning of another segment waits for the rest of it.
            assert half - 64 < have <= half
            assert have <= send(server, recorded, journal, offset=0, data=data[:half]) <= half
            have = send(server, recorded, journal, offset=half - 100, data=data[half - 100 :])
            assert len(data) - 64 < have <= len(data)
            send_all(server, recorded, journal, data=data, have=have)
        wait_until(lambda: steps(server, recorded) == 5000)
        wait_until(lambda: server.state(recorded) == "finished")
        shown = server.get(f"/runs/{recorded}")
        assert (shown["project"], shown["config"]) == ("far", {"lr": 0.5})
        held = server.get(f"/ingest/{recorded}")
        assert held["journals"] == {journal: len(data) for journal, data in journals(recorded).items()}


def test_files_are_there_when_they_are_complete(recorded: str, tmp_path: Path) -> None:
    content = bytes(range(256)) * 1000
    query: dict[str, str | int] = {"total": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    with team_server(tmp_path / "team") as server:
        for journal, data in journals(recorded).items():
            send_all(server, recorded, journal, data=data)

        def put(offset: int, data: bytes) -> dict[str, object]:
            answer = server.http.put(
                f"/ingest/{recorded}/files/media/a%20b.bin",
                params={"offset": offset, **query},
                content=data,
                headers={"content-type": "application/octet-stream"},
            )
            assert answer.status_code == 200, answer.text
            return dict(answer.json())

        assert put(0, content[:1000]) == {"offset": 1000, "is_complete": False}
        assert server.get(f"/ingest/{recorded}")["files"] == {}
        assert put(1000, content[1000:]) == {"offset": len(content), "is_complete": True}
        assert server.http.get(f"/runs/{recorded}/files/media/a%20b.bin").content == content


def test_who_wants_a_far_run_to_stop_is_told_to_its_sender(tmp_path: Path) -> None:
    with start("import holter, time\nholter.init(id='far1')\nprint('x', flush=True)\ntime.sleep(60)") as program:
        assert program.stdout is not None
        program.stdout.readline()
        with team_server(tmp_path / "team") as server:
            for journal, data in journals("far1").items():
                send(server, "far1", journal, offset=0, data=data.rstrip(b"\0"))
            wait_until(lambda: server.http.get("/runs/far1").status_code == 200)
            assert server.post("/runs/far1/stop", {"reason": "enough"}) == {"asked": True}
            assert server.get("/ingest/far1")["stop"]["reason"] == "enough"
        program.kill()


def test_what_was_acknowledged_outlives_kill_9_of_the_server(recorded: str, tmp_path: Path) -> None:
    sent = 0
    with team_server(tmp_path / "team") as server:
        journal, data = program_journal(recorded)
        while sent < len(data):
            sent = send(server, recorded, journal, offset=sent, data=data[sent : sent + 20_000])
        key = server.key
        server.kill()
    with team_server(tmp_path / "team", key=key) as again:
        assert again.get(f"/ingest/{recorded}")["journals"][journal] == sent == len(data)
        wait_until(lambda: steps(again, recorded) == 5000)


def test_a_ui_that_was_killed_starts_again_and_has_it_all(recorded: str) -> None:
    with ui() as first:
        wait_until(lambda: steps(first, recorded) == 5000)
        first.kill()
    with ui() as second:
        wait_until(lambda: second.http.get(f"/runs/{recorded}").status_code == 200)
        wait_until(lambda: steps(second, recorded) == 5000)


def test_a_damaged_index_is_made_again_from_the_journals(recorded: str) -> None:
    with ui() as first:
        wait_until(lambda: steps(first, recorded) == 5000)
    index = data_directory() / "index" / "runs.db"
    index.write_bytes(b"not a database at all" * 1000)
    with ui() as second:
        assert "is damaged" in second.output.read_text()
        wait_until(lambda: second.http.get(f"/runs/{recorded}").status_code == 200)
        wait_until(lambda: steps(second, recorded) == 5000)


def test_rebuild_makes_the_index_anew_but_not_under_a_running_server(recorded: str) -> None:
    data = ("--data", str(data_directory()))
    with ui() as served:
        wait_until(lambda: steps(served, recorded) == 5000)
        refused = holter("server", "rebuild", *data)
        assert refused.returncode == 2
        assert "is served by another process already" in refused.stderr
        assert served.key not in refused.stderr
    for name in INDEX:
        (data_directory() / "index" / name).write_bytes(b"rubbish" * 999)
    rebuilt = holter("server", "rebuild", *data)
    assert rebuilt.returncode == 0, rebuilt.stderr
    assert "The index of 1 run" in rebuilt.stdout
    with ui() as served:
        assert steps(served, recorded) == 5000


def test_a_damage_while_it_runs_ends_ingest_and_nothing_else(recorded: str, tmp_path: Path) -> None:
    team = tmp_path / "team"
    with team_server(team) as server:
        held = journals(recorded)
        for journal, data in held.items():
            send_all(server, recorded, journal, data=data)
        wait_until(lambda: steps(server, recorded) == 5000)
        for path in [found for name in INDEX for found in (team / "index").glob(f"{name}*")]:
            if not path.name.endswith("-shm"):
                with path.open("r+b") as file:
                    file.write(b"rubbish!" * (path.stat().st_size // 8))
        (team / "runs" / "other").mkdir()
        for path in (data_directory() / "runs" / recorded).glob("*.seg"):
            shutil.copy(path, team / "runs" / "other")
        wait_until(lambda: server.get("/info")["trouble"] != "", within_s=60)
        answer = server.http.post(
            f"/ingest/{recorded}/transcripts/output.log?offset=0",
            content=b"x",
            headers={"content-type": "application/octet-stream"},
        )
        assert (answer.status_code, answer.headers["retry-after"]) == (503, "30")
        assert server.get(f"/runs/{recorded}/verdict")["state"] == "finished"
        key = server.key
    with team_server(team, key=key) as again:
        wait_until(lambda: again.http.get(f"/runs/{recorded}").status_code == 200)
        wait_until(lambda: steps(again, recorded) == 5000)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    place = tmp_path / "small"
    place.mkdir()
    mount("-t", "tmpfs", "-o", "size=8m", "tmpfs", str(place))
    yield place
    unmount(place)


def fill(path: Path) -> None:
    with path.open("wb", buffering=0) as file:
        while True:
            file.write(bytes(4096))


def test_a_full_disk_ends_ingest_and_not_reading_until_there_is_room(recorded: str, small_disk: Path) -> None:
    journal, data = program_journal(recorded)
    half = len(data) // 2
    with team_server(small_disk / "team") as server:
        half = send(server, recorded, journal, offset=0, data=data[:half])
        wait_until(lambda: server.http.get(f"/runs/{recorded}").status_code == 200)
        ballast = small_disk / "ballast"
        with pytest.raises(OSError, match="No space"):
            fill(ballast)
        answer = server.http.post(
            f"/ingest/{recorded}/journals/{journal}",
            params={"offset": half},
            content=zstandard.compress(data[half:]),
            headers=PACKED,
        )
        assert (answer.status_code, answer.headers["retry-after"]) == (503, "30")
        assert server.get("/runs")["total"] == 1
        assert steps(server, recorded) > 0
        ballast.unlink()
        wait_until(lambda: server.get("/info")["trouble"] == "", within_s=60)
        send_all(server, recorded, journal, data=data, have=half)
        wait_until(lambda: steps(server, recorded) == 5000, within_s=60)


def test_a_backup_while_runs_are_written_can_be_served(tmp_path: Path) -> None:
    with start(WRITING) as program, ui() as served:
        wait_until(lambda: served.http.get("/runs/w1").status_code == 200)
        wait_until(lambda: served.get("/runs/w1")["rows"] > 100)
        target = tmp_path / "backup"
        copied = holter("server", "backup", str(target), "--data", str(data_directory()))
        assert copied.returncode == 0, copied.stderr
        again = holter("server", "backup", str(target), "--data", str(data_directory()))
        assert again.returncode == 2
        program.kill()
    assert target.stat().st_mode & 0o077 == 0
    with team_server(target) as restored:
        wait_until(lambda: restored.http.get("/runs/w1").status_code == 200)
        wait_until(lambda: steps(restored, "w1") > 100)
        checked = holter("server", "check", "--data", str(target))
        assert (checked.returncode, checked.stderr) == (0, "")
        assert checked.stdout.startswith("1 run read (")
    segment = max((target / "runs" / "w1").glob("*.seg"), key=lambda path: path.stat().st_size)
    damaged = bytearray(segment.read_bytes())
    damaged[2000] ^= 1
    segment.write_bytes(damaged)
    checked = holter("server", "check", "--json", "--data", str(target))
    assert checked.returncode == 1
    [finding] = json.loads(checked.stdout)["findings"]
    assert finding["run"] == "w1"
    assert segment.name in finding["what"]


def test_commands_do_not_load_the_server() -> None:
    listing = "import sys; from holter.cli.main import main; main(['--help']); main(['ls']); print(*sys.modules)"
    found = subprocess.run([sys.executable, "-c", listing], capture_output=True, text=True, check=True)
    loaded = {name.partition(".")[0] for name in found.stdout.splitlines()[-1].split()}
    assert loaded & {"starlette", "uvicorn", "zstandard", "anyio", "h11", "asyncio", "sqlite3"} == set()
