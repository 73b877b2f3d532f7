#!/usr/bin/env python3
"""Measures what the server's index costs, and what other trackers' servers do: `make bench-server`.

Each measure prints its figures with bar and verdict, and leaves them in benchmarks/results as JSON. CPU time, but for
the worst batch: other programs on the machine do not count. A missed bar is a result, not an error.
"""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # this file is run, not imported

from benchmarks.suite import Suite, parse, parser_of, take  # noqa: E402  needs the line above

MEASURES = ("ingest", "reads", "tables", "peers", "kills", "network", "live", "many", "strangers", "fleet")
SUITE = Suite(
    command="benchmarks/server_run.py",
    modules={name: f"benchmarks.server_{name}" for name in MEASURES},
    prefix="server-",
)

if __name__ == "__main__":
    parser = parser_of(SUITE, __doc__)
    parser.add_argument("--runs", type=int, help="how many runs the measure fleet has, instead of 1,000 and 3,000")
    parser.add_argument("--seconds", type=float, help="for how long they send")
    sys.exit(take(SUITE, parse(parser, SUITE)))
