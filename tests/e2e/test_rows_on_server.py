"""The last line of a run says how many of its rows are on the server."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from holter.recording.login import rows_in_words
from tests.e2e.programs import only_run, run
from tests.e2e.servers import team_server

# It waits for what it is told, not for a time.
TRAINING = """
import os, time, holter
run = holter.init(project="far")
for step in range(1204):
    run.log({"loss": 1 / (step + 1)})
deadline = time.monotonic() + 60
wanted = int(os.environ["WANTED"])
while time.monotonic() < deadline:
    known = run._link.on_server.get(run.journal.id.hex())
    if known is not None and known.rows == wanted and known.is_stuck == (wanted == 0):
        break
    time.sleep(0.02)
"""


def test_where_all_rows_have_arrived_it_says_so(tmp_path: Path) -> None:
    with team_server(tmp_path / "far") as server:
        sending = {"HOLTER_URL": server.address, "HOLTER_API_KEY": server.key, "HOLTER_QUIET": "", "WANTED": "1204"}
        done = run(TRAINING, **sending)
    assert " s with 1,204 rows here = on the server; `holter show" in done.stderr


def test_where_the_server_can_not_be_reached_it_says_how_many_wait() -> None:
    done = run(TRAINING, HOLTER_URL="http://127.0.0.1:9", HOLTER_API_KEY="k", HOLTER_QUIET="", WANTED="0")
    assert f"0 of 1,204 rows on the server, 1,204 wait: `holter sync {only_run().row.id}`" in done.stderr


def test_without_a_server_it_says_how_many_there_are() -> None:
    done = run('import holter; holter.init().log({"loss": 1.0})', HOLTER_QUIET="")
    assert " s with 1 row; `holter show" in done.stderr


def test_holter_run_says_it_for_its_command(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(TRAINING)
    with team_server(tmp_path / "far") as server:
        sending = {"HOLTER_URL": server.address, "HOLTER_API_KEY": server.key, "HOLTER_QUIET": "", "WANTED": "1204"}
        done = subprocess.run(
            [sys.executable, "-m", "holter", "run", "--", sys.executable, "train.py"],
            cwd=tmp_path,
            env={**os.environ, **sending},
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
    assert " s with 1,204 rows here = on the server; `holter show" in done.stderr, done.stderr


@pytest.mark.parametrize(
    ("rows", "there", "is_stuck", "words"),
    [
        (1204, 1204, False, "1,204 rows here = on the server"),
        (1, 1, True, "1 row here = on the server"),
        (1204, 1180, True, "1,180 of 1,204 rows on the server, 24 wait: `holter sync abc`"),
        (1204, 1180, False, "1,180 of 1,204 rows on the server, 24 follow"),
    ],
)
def test_how_many_rows_are_where_in_words(rows: int, there: int, is_stuck: bool, words: str) -> None:
    assert rows_in_words(rows, there, run="abc", is_stuck=is_stuck) == words
