"""`make zoo`: every fault in every mode, the figures on the terminal and in docs/zoo.md."""

import argparse
import contextlib
import os
import platform
import re
import signal
import sys
import time
from pathlib import Path

import msgspec

from tests.zoo import figures
from tests.zoo.case import Case
from tests.zoo.earning import EARNED, held_cases, keep_sights, recorded_faults, with_calibration, written
from tests.zoo.fault import Fault, load_faults
from tests.zoo.modes import STANDARD, Mode, all_modes
from tests.zoo.needs import applies, lacks
from tests.zoo.page import calibration, write_page
from tests.zoo.recorded import Death, keep_deaths, path_of
from tests.zoo.runner import LANES, Runner

PAGE = Path(__file__).parents[2] / "docs" / "zoo.md"
CASES = Path(__file__).parents[2] / "benchmarks" / "results" / "zoo" / "cases.json"


def main() -> int:
    """Run what was chosen; 1 where something was wrong though sure, or did not happen as it should have."""
    chosen = _arguments()
    # Whoever starts this in the background leaves it, and all programs that it starts, deaf to these.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in (signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, signal.SIG_DFL)
    if chosen.earn:
        return _earn()
    faults = [fault for fault in load_faults() if re.search(chosen.only, f"{fault.share} {fault.kind}: {fault.name}")]
    missing = {fault.name: why for fault in faults if (why := lacks(fault))}
    faults = [fault for fault in faults if fault.name not in missing]
    modes = [
        mode for mode in (all_modes() if chosen.modes == "all" else [STANDARD]) if re.search(chosen.mode, mode.name)
    ]
    wanted = plan(faults, modes, times=chosen.times, normal_times=chosen.normal_times, every=chosen.every)
    cases = _run(wanted, lanes=chosen.lanes, records=chosen.record)
    chosen.cases.parent.mkdir(parents=True, exist_ok=True)
    bare = [msgspec.structs.replace(case, evidence=None) for case in cases]
    chosen.cases.write_bytes(msgspec.json.format(msgspec.json.encode(bare)))
    page = write_page(cases, faults, held=held_cases(load_faults()), machine=_machine())
    print(page)
    if chosen.write and (chosen.only or chosen.every > 1):
        print(f"{PAGE} stays as it is: it is about all faults, and only some were run", file=sys.stderr)
    elif chosen.write:
        PAGE.write_text(page)
        print(f"written to {PAGE}", file=sys.stderr)
        _earn()
    for name, why in missing.items():
        print(f"left out: {name}: {why}", file=sys.stderr)
    return _complain(cases)


def _earn() -> int:
    """Write what the grades have earned into the product and into the page."""
    cases = held_cases(load_faults())
    EARNED.write_text(written(figures.promises(figures.earned(cases))))
    PAGE.write_text(with_calibration(PAGE.read_text(), list(calibration(cases))))
    print("\n".join(calibration(cases)))
    return 0


def plan(
    faults: list[Fault], modes: list[Mode], *, times: int, normal_times: int, every: int = 1
) -> list[tuple[Fault, Mode]]:
    """Each fault in each mode that makes sense for it, or every so manieth, others in each mode.

    Normal ends come more often: one false verdict is too many.
    """
    once = [
        (fault, mode)
        for number, mode in enumerate(modes)
        for fault in faults[number % every :: every]
        if applies(fault, mode)
    ]
    normal = [(fault, mode) for fault, mode in once if fault.cause is None]
    return once * times + normal * times * (normal_times - 1)


def _run(wanted: list[tuple[Fault, Mode]], *, lanes: int, records: bool) -> list[Case]:
    began = time.monotonic()
    met = recorded_faults() if records else frozenset()
    cases: list[Case] = []
    unkept: list[Case] = []
    with Runner(lanes) as runner, contextlib.suppress(KeyboardInterrupt):  # then of those that there are
        for case in runner.run(wanted):
            cases.append(case)
            unkept.append(case)
            if not case.is_right:
                print(f"  {case.trouble.splitlines()[0] if case.trouble else ''} {case.words}", file=sys.stderr)
            if len(cases) % 50 == 0:
                print(f"{len(cases)} of {len(wanted)} after {time.monotonic() - began:,.0f} s", file=sys.stderr)
                if records:
                    _record(unkept, met)
                unkept = []
    if records:
        _record(unkept, met)
    return cases


def _record(cases: list[Case], met: frozenset[str]) -> None:
    """Keep the evidence of what happened as it should have, and what was said of a held fault at first sight."""
    keep_sights(cases, met=met)
    by_path: dict[Path, list[Death]] = {}
    for case in cases:
        if case.evidence is not None and not case.trouble:
            death = Death(fault=case.fault, was_right=case.is_right, evidence=case.evidence)
            by_path.setdefault(path_of(case.mode), []).append(death)
    for path, deaths in by_path.items():
        keep_deaths(path, deaths)


def _complain(cases: list[Case]) -> int:
    wrong = figures.wrong_confident(cases)
    troubled = [case for case in cases if case.trouble]
    for case in wrong:
        print(f"wrong though sure: {case.words}", file=sys.stderr)
    for case in troubled:
        print(f"did not happen: {case.fault} ({case.mode.name}): {case.trouble}", file=sys.stderr)
    return int(bool(wrong or troubled))


def _machine() -> str:
    kernel = platform.release().partition("-")[0]
    return f"Linux {kernel}, {os.cpu_count()} cores, Python {platform.python_version()}"


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make zoo", description=__doc__)
    parser.add_argument("--only", default="", help="a pattern for `share kind: name` of the faults")
    parser.add_argument("--modes", choices=("all", "standard"), default="all")
    parser.add_argument("--mode", default="", help="a pattern for the name of the modes")
    parser.add_argument("--times", type=int, default=1, help="how often each")
    parser.add_argument("--normal-times", type=int, default=1, help="how many times as often each normal end")
    parser.add_argument("--every", type=int, default=1, help="not all faults: every so manieth, others in each mode")
    parser.add_argument("--lanes", type=int, default=LANES, help="how many at a time")
    parser.add_argument("--cases", type=Path, default=CASES, help="where to keep every case, as JSON")
    parser.add_argument("--record", action="store_true", help="keep the evidence of each death, to be judged again")
    parser.add_argument("--earn", action="store_true", help="run nothing: write what the grades earned on recordings")
    parser.add_argument("--write", action="store_true", help="write docs/zoo.md")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
