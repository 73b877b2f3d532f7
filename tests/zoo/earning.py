"""What each grade has earned on held faults, and the file in which the product has it.

A held death counts as it was told at first sight, where that was written down (`recordings/first_sight.jsonl`, kept by
`make zoo ZOO_ARGS=--record` from the fifth edition on); else as the rules of today judge what was recorded of it.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from holter.catalog.read.rules_stamp import rules_stamp
from holter.model.verdicts import Grade
from tests.zoo.case import Case
from tests.zoo.fault import HELD, Fault
from tests.zoo.modes import Mode, all_modes
from tests.zoo.recorded import PLACE, judge_again, path_of, read_deaths

FIRST_SIGHT = PLACE.parent / "first_sight.jsonl"
EARNED = Path(__file__).parents[2] / "src" / "holter" / "diagnosis" / "earned.py"
_TEXT = '''"""What each grade has earned on faults that no rule was written for. `make zoo` writes it: not by hand."""

CONFIDENCES = {{
{rows}
}}
'''
_KEPT = ("state", "cause", "confidence", "grade", "candidates")


class Sight(msgspec.Struct, frozen=True, kw_only=True):
    """What was said of a held fault when the rules first met it."""

    fault: str
    mode: str
    rules: str
    """Stands for the rules; others meet the fault at second sight."""
    answer: dict[str, Any]


def read_sights(path: Path = FIRST_SIGHT) -> list[Sight]:
    """All that were written down."""
    return [msgspec.json.decode(line, type=Sight) for line in path.read_bytes().splitlines()] if path.exists() else []


def keep_sights(cases: Iterable[Case], *, met: frozenset[str], path: Path = FIRST_SIGHT) -> None:
    """Write down what was said of held faults that these rules were the first to meet; `met` are those of others."""
    known = read_sights(path)
    stamp = rules_stamp()
    old = met | {sight.fault for sight in known if sight.rules != stamp}
    seen = {(sight.fault, sight.mode) for sight in known}
    new = [
        Sight(fault=case.fault, mode=case.mode.name, rules=stamp, answer={name: case.answer[name] for name in _KEPT})
        for case in cases
        if case.share == HELD and not case.trouble and "error" not in case.answer
        if case.fault not in old and (case.fault, case.mode.name) not in seen
    ]
    if new:
        lines = [msgspec.json.encode(sight) + b"\n" for sight in [*known, *new]]
        path.write_bytes(b"".join(sorted(lines)))


def recorded_faults() -> frozenset[str]:
    """The names of all faults that rules have met."""
    return frozenset(death.fault for mode in all_modes() for death in read_deaths(path_of(mode)))


def held_cases(all_faults: Iterable[Fault], *, path: Path = FIRST_SIGHT) -> list[Case]:
    """Every held death, each once: at first sight, or judged again."""
    faults = {fault.name: fault for fault in all_faults}
    first = first_sights(faults.values(), path=path)
    seen = {(case.fault, case.mode.name) for case in first}
    return [*first, *(case for case in _judged_again(faults) if (case.fault, case.mode.name) not in seen)]


def first_sights(all_faults: Iterable[Fault], *, path: Path = FIRST_SIGHT) -> list[Case]:
    """What was said of faults when the rules first met them, as far as it was written down."""
    faults = {fault.name: fault for fault in all_faults}
    modes = {mode.name: mode for mode in all_modes()}
    return [
        _case(faults[sight.fault], modes[sight.mode], sight.answer)
        for sight in read_sights(path)
        if sight.fault in faults and sight.mode in modes
    ]


def _judged_again(faults: Mapping[str, Fault]) -> Iterator[Case]:
    for mode in all_modes():
        for death in read_deaths(path_of(mode)):
            fault = faults.get(death.fault)
            if fault is not None and fault.share == HELD:
                yield _case(fault, mode, judge_again(death.evidence))


def _case(fault: Fault, mode: Mode, answer: dict[str, Any]) -> Case:
    return msgspec.structs.replace(Case.of(fault, mode), answer=answer)


def written(promised: Mapping[Grade, float]) -> str:
    """The file in which the product has its confidences."""
    return _TEXT.format(rows="\n".join(f'    "{grade.name.lower()}": {promised[grade]},' for grade in promised))


def with_calibration(page: str, rows: Sequence[str]) -> str:
    """The page with another table of what the grades have earned."""
    before, head, rest = page.partition("\n## Calibration\n")
    _, next_head, after = rest.partition("\n## ")
    return before + head + "\n" + "".join(f"{row}\n" for row in rows) + next_head + after
