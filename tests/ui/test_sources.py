"""What Node says about the page and the JupyterLab extension: their types, and the tests that need no browser."""

import json
import subprocess
from pathlib import Path

from build_page import find_node

ROOT = Path(__file__).parents[2]


def run_tool(*words: str) -> subprocess.CompletedProcess[str]:
    """A tool of the page's developers, in Node: the system's, or that of the wheel."""
    node, _ = find_node()
    return subprocess.run([node, *words], cwd=ROOT / "ui", capture_output=True, text=True, check=False)


def test_the_page_fits_its_types() -> None:
    done = run_tool("node_modules/svelte-check/bin/svelte-check", "--fail-on-warnings", "--output", "machine")
    assert done.returncode == 0, done.stdout


def test_the_jupyterlab_extension_fits_its_types() -> None:
    done = run_tool("node_modules/typescript/bin/tsc", "-p", str(ROOT / "jupyterlab-holter"))
    assert done.returncode == 0, done.stdout


def test_what_needs_no_browser_does_what_it_says(tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    done = run_tool(
        "node_modules/vitest/vitest.mjs", "run", "--reporter=json", "--testTimeout=60000", f"--outputFile={report}"
    )
    assert done.returncode == 0, done.stdout + done.stderr + (report.read_text() if report.exists() else "")
    told = json.loads(report.read_text())
    # A file that is not found is no failure to the tool.
    assert told["numTotalTestSuites"] > len(list((ROOT / "ui" / "tests").glob("*.test.ts")))
    assert told["numPassedTests"] == told["numTotalTests"] > 0
