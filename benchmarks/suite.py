"""Takes the measures of one command in turn: prints each with bar and verdict, and leaves it in benchmarks/results."""

import argparse
import datetime
import importlib
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path

import msgspec

from benchmarks import report
from benchmarks.machine import Machine, busy_s, describe_machine
from benchmarks.peers import peer_versions, peers_python
from benchmarks.plan import Plan
from benchmarks.trials import ROOT

RESULTS = ROOT / "benchmarks" / "results"
DOCS = ROOT / "docs" / "benchmarks.md"


class Suite(msgspec.Struct, frozen=True, kw_only=True):
    """The measures of one command, each a module with `measure(plan)` and its method as a docstring."""

    command: str
    modules: dict[str, str]
    prefix: str = ""
    """Before the names of its results."""
    has_trackers: bool = False
    """Whether its measures log with wandb and trackio."""

    @property
    def results(self) -> list[str]:
        return [self.prefix + name for name in self.modules]


def run(suite: Suite, description: str | None) -> int:
    """All of such a command; returns its exit code."""
    return take(suite, parse(parser_of(suite, description), suite))


def parser_of(suite: Suite, description: str | None) -> argparse.ArgumentParser:
    """What every such command understands."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("measures", nargs="*", metavar="MEASURE", help=", ".join(suite.modules))
    parser.add_argument("--quick", action="store_true", help="a smoke pass: the figures mean nothing")
    parser.add_argument("--no-peers", action="store_true", help="leave the other trackers out")
    parser.add_argument("--results", type=Path, default=RESULTS, help="where the JSON goes")
    parser.add_argument("--scratch", type=Path, help="a directory on the disk to measure; default: beside the results")
    return parser


def parse(parser: argparse.ArgumentParser, suite: Suite) -> argparse.Namespace:
    """The arguments; a measure that there is not ends the program."""
    chosen = parser.parse_args()
    if unknown := sorted(set(chosen.measures) - set(suite.modules)):
        parser.error(f"no measure {unknown[0]!r}: there are {', '.join(suite.modules)}")
    return chosen


def take(suite: Suite, chosen: argparse.Namespace) -> int:
    """Take the chosen measures, or all; the exit code says whether one broke. A missed bar is no failure."""
    parent = chosen.scratch or chosen.results
    parent.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix="scratch-", dir=parent)).resolve()
    code = 0
    # Told to end, it takes the servers and browsers that it started along.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        peers, absence = _trackers(chosen) if suite.has_trackers else (None, "")
        is_long = getattr(chosen, "long", False)
        plan = Plan(
            scratch=scratch,
            peers=peers,
            is_alone=chosen.no_peers,
            is_quick=chosen.quick,
            is_long=is_long,
            runs=getattr(chosen, "runs", None),
            seconds=getattr(chosen, "seconds", None),
        )
        machine = describe_machine(scratch, peer_versions(peers) if peers else {})
        for name in chosen.measures or suite.modules:
            print(f"measuring {name}", file=sys.stderr, flush=True)
            try:
                result = _run(suite, name, plan=plan, machine=machine)
            except Exception:  # noqa: BLE001  the other measures are still worth having
                traceback.print_exc()
                code = 1
                continue
            if absence and any(figure.measured is None for figure in result.found.figures):
                result.found.notes.append(absence)
            report.save(result, chosen.results)
            print(report.terminal_text(result), flush=True)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return code


def _trackers(chosen: argparse.Namespace) -> tuple[Path | None, str]:
    """The Python of the peers, or None and the reason."""
    if chosen.no_peers:
        return None, "The peers were left out (--no-peers)."
    try:
        return peers_python(), ""
    except subprocess.CalledProcessError as error:
        return None, f"The peers could not be installed (exit code {error.returncode}): they are left out."


def _run(suite: Suite, name: str, *, plan: Plan, machine: Machine) -> report.Result:
    module = importlib.import_module(suite.modules[name])
    start, busy, ours = time.monotonic(), busy_s(), _our_cpu_s()
    found = module.measure(plan)
    took_s = time.monotonic() - start
    return report.Result(
        measure=suite.prefix + name,
        command=f"{suite.command} {name}",
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
