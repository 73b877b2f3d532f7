"""The server's benchmarks run through; a smoke pass says nothing about figures."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_every_measure_of_the_server_leaves_its_figures(tmp_path: Path) -> None:
    command = [sys.executable, str(ROOT / "benchmarks" / "server_run.py"), "--quick", "--results", str(tmp_path)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "server-ingest.json",
        "server-reads.json",
        "server-tables.json",
    ]
    assert "bytes per point" in ran.stdout
