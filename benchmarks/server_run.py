#!/usr/bin/env python3
"""Measures what the server's index costs: `make bench-server`.

Each measure prints its figures with bar and verdict, and leaves them in benchmarks/results as JSON. CPU time, but for
the worst batch: other programs on the machine do not count. A missed bar is a result, not an error.
"""

import argparse
import importlib
import shutil
import sys
import tempfile
from pathlib import Path

import msgspec

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # this file is run, not imported

from benchmarks.figures import Measured, show  # noqa: E402  needs the line above
from benchmarks.machine import describe_machine, machine_sentence  # noqa: E402
from benchmarks.plan import Plan  # noqa: E402

RESULTS = ROOT / "benchmarks" / "results"
MEASURES = ("ingest", "reads", "tables", "kills", "live", "many")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("measures", nargs="*", metavar="MEASURE", help=", ".join(MEASURES))
    parser.add_argument("--quick", action="store_true", help="a smoke pass: the figures mean nothing")
    parser.add_argument("--results", type=Path, default=RESULTS, help="where the JSON goes")
    chosen = parser.parse_args()
    if unknown := sorted(set(chosen.measures) - set(MEASURES)):
        parser.error(f"no measure {unknown[0]!r}: there are {', '.join(MEASURES)}")
    chosen.results.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix="scratch-", dir=chosen.results)).resolve()
    try:
        print(machine_sentence(describe_machine(scratch, {})))
        for name in chosen.measures or MEASURES:
            plan = Plan(scratch=scratch, is_quick=chosen.quick)
            found: Measured = importlib.import_module(f"benchmarks.server_{name}").measure(plan)
            _print(name, found)
            (chosen.results / f"server-{name}.json").write_bytes(msgspec.json.format(msgspec.json.encode(found)))
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return 0


def _print(name: str, found: Measured) -> None:
    print(f"\n{name}")
    for figure in found.figures:
        bar = f"bar {show(figure.at_most, figure.unit)}: {figure.verdict}" if figure.at_most is not None else ""
        print(f"  {figure.name:<48} {show(figure.measured, figure.unit):>12}  {bar}")
    for note in found.notes:
        print(f"  {note}")


if __name__ == "__main__":
    sys.exit(main())
