"""`holter server` whose points and lines are in ClickHouse, which is killed."""

from pathlib import Path

from tests.clickhouse.server import running_chdb
from tests.e2e.programs import run, wait_until
from tests.e2e.servers import Served, team_server

ROWS = 300
TRAINING = f"""
import holter
run = holter.init(project="far")
print("id", run.id)
for step in range({ROWS}):
    run.log({{"loss": 1 / (step + 1)}})
"""


def record(server: Served) -> str:
    done = run(TRAINING, HOLTER_URL=server.address, HOLTER_API_KEY=server.key)
    return next(line.split()[1] for line in done.stdout.splitlines() if line.startswith("id "))


def is_whole(server: Served, run_id: str) -> bool:
    """Whether the run is there with its rows and its line."""
    if server.http.get(f"/runs/{run_id}").status_code != 200:
        return False
    [(_, columns)] = server.series(runs=[run_id], keys=["loss"], buckets=10)
    lines = server.get(f"/runs/{run_id}/console", count=5)["lines"]
    return sum(columns["count"]) == ROWS and [line["text"] for line in lines] == [f"id {run_id}"]


def test_what_is_sent_while_it_is_away_is_there_when_it_is_back(tmp_path: Path) -> None:
    with running_chdb() as clickhouse, team_server(tmp_path / "data", "--series", clickhouse.new_place()) as server:
        first = record(server)
        wait_until(lambda: is_whole(server, first))
        clickhouse.kill()
        second = record(server)
        refused = server.http.get(f"/runs/{first}")
        assert refused.status_code == 503
        assert "can't be reached (Connection refused); nothing is lost" in refused.text
        clickhouse.start()
        wait_until(lambda: is_whole(server, first) and is_whole(server, second))
