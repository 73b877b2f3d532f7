#!/usr/bin/env python3
"""Measures the figures that the README quotes, side by side with the peers: `make bench`.

Without names all measures run, one after the other. Each prints its figures with bar and verdict, and leaves them in
benchmarks/results as JSON. A missed bar is a result, not an error.
"""

import argparse
import datetime
import importlib
import resource
import shutil
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # this file is run, not imported

from benchmarks import report  # noqa: E402  needs the line above
from benchmarks.machine import Machine, busy_s, describe_machine  # noqa: E402
from benchmarks.peers import peer_versions, peers_python  # noqa: E402
from benchmarks.plan import Plan  # noqa: E402

RESULTS = ROOT / "benchmarks" / "results"
DOCS = ROOT / "docs" / "benchmarks.md"
# The order of the README. A measure that is not named here comes last.
ORDER = (
    "log-latency paced-latency loop-overhead start kills machine-death launcher unnoticed survivors console-kills "
    "sidecar journal-size many-runs"
).split()


def measure_names() -> list[str]:
    found = {path.stem.replace("_", "-") for path in (ROOT / "benchmarks" / "measures").glob("[!_]*.py")}
    return sorted(found, key=lambda name: (ORDER.index(name) if name in ORDER else len(ORDER), name))


def main() -> int:
    chosen = _parse()
    failed = _measure(chosen) if chosen.measures or not chosen.write_docs else []
    if chosen.write_docs:
        report.write_docs(DOCS, report.load(chosen.results), measure_names())
        print(f"wrote {DOCS.relative_to(ROOT)}")
    return 1 if failed else 0


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("measures", nargs="*", metavar="MEASURE", help=", ".join(measure_names()))
    parser.add_argument("--quick", action="store_true", help="a smoke pass: the figures mean nothing")
    parser.add_argument("--long", action="store_true", help="watch the sidecar for ten minutes instead of one")
    parser.add_argument("--no-peers", action="store_true", help="leave wandb and trackio out")
    parser.add_argument("--results", type=Path, default=RESULTS, help="where the JSON goes")
    parser.add_argument("--scratch", type=Path, help="a directory on the disk to measure; default: beside the results")
    parser.add_argument(
        "--write-docs", action="store_true", help="put the results into docs/benchmarks.md; measure only what is named"
    )
    chosen = parser.parse_args()
    if unknown := sorted(set(chosen.measures) - set(measure_names())):
        parser.error(f"no measure {unknown[0]!r}: there are {', '.join(measure_names())}")
    return chosen


def _measure(chosen: argparse.Namespace) -> list[str]:
    """Run the chosen measures; returns the names of those that broke."""
    parent = chosen.scratch or chosen.results
    parent.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix="scratch-", dir=parent)).resolve()
    failed = []
    try:
        peers, absence = _peers(chosen)
        plan = Plan(scratch=scratch, peers=peers, is_quick=chosen.quick, is_long=chosen.long)
        machine = describe_machine(scratch, peer_versions(peers) if peers else {})
        for name in chosen.measures or measure_names():
            print(f"measuring {name}", file=sys.stderr, flush=True)
            try:
                result = _run(name, plan, machine)
            except Exception:  # noqa: BLE001  the other measures are still worth having
                traceback.print_exc()
                failed.append(name)
                continue
            if absence and any(figure.measured is None for figure in result.found.figures):
                result.found.notes.append(absence)
            report.save(result, chosen.results)
            print(report.terminal_text(result), flush=True)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return failed


def _peers(chosen: argparse.Namespace) -> tuple[Path | None, str]:
    """The Python of the peers, or None and the reason."""
    if chosen.no_peers:
        return None, "The peers were left out (--no-peers)."
    try:
        return peers_python(), ""
    except subprocess.CalledProcessError as error:
        return None, f"The peers could not be installed (exit code {error.returncode}): they are left out."


def _run(name: str, plan: Plan, machine: Machine) -> report.Result:
    module = importlib.import_module(f"benchmarks.measures.{name.replace('-', '_')}")
    start, busy, ours = time.monotonic(), busy_s(), _our_cpu_s()
    found = module.measure(plan)
    took_s = time.monotonic() - start
    return report.Result(
        measure=name,
        method=(module.__doc__ or "").strip(),
        date=datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC"),
        took_s=took_s,
        foreign_cores=max(0.0, (busy_s() - busy - (_our_cpu_s() - ours)) / took_s),
        is_quick=plan.is_quick,
        machine=machine,
        found=found,
    )


def _our_cpu_s() -> float:
    both = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in both)


if __name__ == "__main__":
    sys.exit(main())
