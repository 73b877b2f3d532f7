#!/usr/bin/env python3
"""Measures the figures that the README quotes, side by side with the peers: `make bench`.

Without names all measures run, one after the other. Each prints its figures with bar and verdict, and leaves them in
benchmarks/results as JSON. A missed bar is a result, not an error.
"""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # this file is run, not imported

from benchmarks import report  # noqa: E402  needs the line above
from benchmarks.page_run import SUITE as PAGE  # noqa: E402
from benchmarks.server_run import SUITE as SERVER  # noqa: E402
from benchmarks.suite import DOCS, Suite, parse, parser_of, take  # noqa: E402

# The order of the README. A measure that is not named here comes last.
ORDER = (
    "log-latency paced-latency loop-overhead start verdicts kills machine-death launcher unnoticed survivors "
    "console-kills sidecar journal-size many-runs"
).split()


def measure_names() -> list[str]:
    found = {path.stem.replace("_", "-") for path in (ROOT / "benchmarks" / "measures").glob("[!_]*.py")}
    return sorted(found, key=lambda name: (ORDER.index(name) if name in ORDER else len(ORDER), name))


SUITE = Suite(
    command="benchmarks/run.py",
    modules={name: f"benchmarks.measures.{name.replace('-', '_')}" for name in measure_names()},
    has_trackers=True,
)


def main() -> int:
    parser = parser_of(SUITE, __doc__)
    parser.add_argument("--long", action="store_true", help="watch the sidecar for ten minutes instead of one")
    parser.add_argument(
        "--write-docs",
        action="store_true",
        help="put all results, also of server and page, into docs/benchmarks.md; measure only what is named",
    )
    chosen = parse(parser, SUITE)
    code = take(SUITE, chosen) if chosen.measures or not chosen.write_docs else 0
    if chosen.write_docs:
        report.write_docs(DOCS, report.load(chosen.results), [*SUITE.results, *SERVER.results, *PAGE.results])
        print(f"wrote {DOCS.relative_to(ROOT)}")
    return code


if __name__ == "__main__":
    sys.exit(main())
