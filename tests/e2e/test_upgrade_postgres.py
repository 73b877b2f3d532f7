"""Tables of PostgreSQL as an earlier version made them: the next one serves what is in them.

`recordings/postgresql-1.tar.xz` is `pg_dump` of the schema that the first version made: a run with a picture, a mark,
an alert, a view, a sweep and the first key. Restoring it is what docs/scale.md says about a backup of PostgreSQL.
"""

import subprocess
import tarfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from holter.storage.engines import postgresql
from tests.e2e.servers import holter, team_server
from tests.postgres import PostgresServer, running_postgres

RECORDED = Path(__file__).parent / "recordings" / "postgresql-1.tar.xz"


@pytest.fixture
def postgres() -> Iterator[PostgresServer]:
    with running_postgres() as found:
        yield found


@pytest.fixture
def recorded(tmp_path: Path, postgres: PostgresServer) -> Path:
    place = tmp_path / "recorded"
    with tarfile.open(RECORDED) as archive:
        archive.extractall(place, filter="data")
    address = postgres.url("recorded").partition("&schema")[0]
    restored = ["psql", "--quiet", "--set=ON_ERROR_STOP=1", f"--file={place / 'dump.sql'}", address]
    done = subprocess.run(restored, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return place


def test_what_an_earlier_version_kept_the_next_one_serves(
    recorded: Path, postgres: PostgresServer, tmp_path: Path
) -> None:
    url, data = postgres.url("recorded"), tmp_path / "data"
    places = ["--runs", url, "--journals", url]
    key, run = ((recorded / name).read_text() for name in ("key.txt", "run.txt"))
    with team_server(data, *places, key=key) as served:  # a new disk, and the key that was made then
        row = served.get(f"/runs/{run}")
        assert (row["name"], row["state"], row["rows"], row["config"]) == ("recorded", "failed", 1101, {"lr": 0.1})
        [(_, columns)] = served.series(runs=[run], keys=["loss"], buckets=10)
        assert sum(columns["count"]) == 1000
        assert served.get(f"/runs/{run}/console", count=5)["lines"][0]["text"] == f"id {run}"
        assert [each["project"] for each in served.get("/sweeps")["sweeps"]] == ["far"]
    settings = postgresql.open_settings(url)
    assert settings.get("far", "ada") == {"now": {"sort": "-loss"}}
    settings.close()
    for act in ("check", "rebuild", "check"):
        done = holter("server", act, "--data", str(data), *places)
        assert done.returncode == 0, done.stdout + done.stderr


def test_many_servers_that_begin_after_an_upgrade_bring_the_tables_up_to_date_once(
    recorded: Path, postgres: PostgresServer
) -> None:
    url = postgres.url("recorded")
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: postgresql.open_runs(url), range(8)))
    assert [len(each.seen()) for each in found] == [1] * 8
    for each in found:
        each.close()
