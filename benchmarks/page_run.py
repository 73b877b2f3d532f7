#!/usr/bin/env python3
"""Measures the web page in a real Chromium, beside the pages of other trackers: `make bench-page`.

Each measure prints its figures with bar and verdict, and leaves them in benchmarks/results as JSON. A missed bar is a
result, not an error.
"""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # this file is run, not imported

from benchmarks.suite import Suite, run  # noqa: E402  needs the line above

MEASURES = ("weight", "open", "view", "charts", "table", "panels", "tasks", "log", "delays", "media")
SUITE = Suite(
    command="benchmarks/page_run.py",
    modules={name: f"benchmarks.page_{name}" for name in MEASURES},
    prefix="page-",
)

if __name__ == "__main__":
    sys.exit(run(SUITE, __doc__))
