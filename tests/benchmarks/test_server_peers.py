"""The comparison with other trackers' servers: our half of it really runs, the others are given the same points."""

import subprocess
import sys
from pathlib import Path

import msgspec

from benchmarks.report import Result
from benchmarks.server_run import ROOT


def test_without_the_others_ours_is_asked_and_no_ratio_is_invented(tmp_path: Path) -> None:
    command = [sys.executable, "benchmarks/server_run.py", "peers", "--quick", "--no-peers", "--results", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=110)
    assert done.returncode == 0, done.stderr
    found = msgspec.json.decode((tmp_path / "server-peers.json").read_bytes(), type=Result).found
    assert [figure.verdict for figure in found.figures] == ["not measured", "not measured"]
    assert [[row[0] for row in table.rows] for table in found.tables] == [["holter"], ["holter"]]
    assert found.notes == ["The others were left out (--no-peers)."]
    [[chart]] = found.raw["chart"]["holter"]
    assert chart["kilobytes"] > 30
