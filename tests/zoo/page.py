"""Writes docs/zoo.md: what was provoked, in which modes, and how good the verdicts were. Pure: cases in, text out."""

from collections.abc import Callable, Iterable, Iterator, Sequence

from tests.zoo import figures
from tests.zoo.case import Case
from tests.zoo.fault import HELD, OPEN, Fault
from tests.zoo.modes import AFTER, ALONE, OLD_LINUX, ORDINARY_USER, ROOT_USER, RUN, SIDECAR, STANDARD, Mode

HEAD = """# The crash zoo

Programs that really die, in ways that are known, and what `holter why` made of them. `make zoo` runs them all in every
mode and writes this page; `make test` runs each open one once and a sample over the modes. A fault is a few lines in
[tests/zoo/faults](../tests/zoo/faults).

**Open** faults are those that the rules may be written against. **Held** faults were written apart from the rules:
nobody tunes a rule against them, no test asks for them, they are for reporting only. A verdict is *right* when its
cause and the run's state both are. *Abstained* means `unknown` with candidates. *Sure* is a confidence of 0.9 or more,
and *wrong though sure* must stay 0. Times are from the death to an answer of `holter why` that stayed, its own start
included.

Deaths on a GPU need one, and all of it. On an NVIDIA H200 (15 November 2026: PyTorch, CuPy, JAX; memory that is full,
held by others or asked for in vain, device asserts, bad addresses, traps, NaN, kills) the 12 kinds of failures, 2 of
kills and 2 of normal ends in `faults/gpu.py` were all told right, with `init()` and under `holter run` alone; what they
left behind is kept, and `make test` judges it again.
"""

FIRST_SEEN = """
Once a rule was mended for what a held fault showed, that fault is open, and others take its place. Each edition was
written by somebody who saw neither the rules nor a verdict. This is how it did when it first met the rules (15 to 18
November 2026), before any of them was mended for it: deaths told right, how many were wrong though sure, and the Brier
score. No normal end of any edition ever got a verdict.

| edition | deaths | client + sidecar, root | ordinary user | old Linux | `holter run` alone |
|---|---:|---|---|---|---|
| first | 129 | 87.6 %, 13, 0.114 | | | 72.7 %, 12 |
| second | 175 | 92.0 %, 8, 0.066 | 91.0 %, 8, 0.073 | 88.4 %, 6, 0.088 | 85.0 %, 10, 0.118 |
| third | 137 | 96.4 %, 2, 0.029 | 96.3 %, 2, 0.033 | 95.6 %, 1, 0.035 | 89.0 %, 6, 0.089 |
| fourth | 138 | 92.0 %, 5, 0.066 | 91.3 %, 5, 0.072 | 91.2 %, 4, 0.073 | 88.4 %, 7, 0.097 |
| fifth | 196 | 97.4 %, 1, 0.015 | | | 87.8 %, 2, 0.089 |
| fifth, on a GPU | 13 | 92.3 %, 0, 0.000 | | 92.3 %, 0, 0.000 | 100.0 %, 0, 0.001 |
| sixth | 70 | 97.1 %, 0, 0.013 | 97.1 %, 0, 0.015 | 97.1 %, 0, 0.015 | 92.9 %, 0, 0.056 |

Of the fifth edition one fault counts as wrong in both modes that was found not to die as it says; it was corrected.
Mended for, it is right in 100.0 % (root and ordinary user), 99.0 % (old Linux) and 92.9 % (`holter run` alone).

The held faults as they are now, those that were told right at first sight among them:
"""

CALIBRATION = """\
What each grade of a verdict promises as its confidence, and how many of its verdicts on held faults were right, in all
modes and editions: from the fifth edition on as they were told at first sight; before it as the rules of today judge
what was recorded of them, which flatters the two best grades (the faults that they had been wrong about are open now).
A grade promises the share that was right; neighbours of which the worse one earned more promise what both earned
together; of fewer than 100 verdicts, or where none was wrong yet, the lower end of the interval (95 %, Wilson), but no
less than the grade below it.
*Consistent* and what is below it rest on a witness that is missing, and stay below 90 % whatever they earn. *Remote* is
the first candidate of an `unknown`. `make zoo` writes the numbers into the product; `python -m tests.zoo --earn` does
so from the recordings alone.

| grade | promised | earned | 95 % interval | verdicts |
|---|---:|---:|---:|---:|"""

Group = tuple[str, Callable[[Mode], bool]]

GROUPS: tuple[Group, ...] = (
    ("client + sidecar, root", lambda mode: mode == STANDARD),
    ("the same without kernel log", lambda mode: mode == Mode(without=("kernel-log",))),
    ("client + sidecar, ordinary user", lambda mode: mode == Mode(user=ORDINARY_USER)),
    ("old Linux, root", lambda mode: mode in (Mode(without=OLD_LINUX), Mode(without=("kernel-log", *OLD_LINUX)))),
    ("old Linux, ordinary user", lambda mode: mode == Mode(user=ORDINARY_USER, without=OLD_LINUX)),
    ("without the signal witness", lambda mode: mode.watch == SIDECAR and "signals" in mode.without),
    ("`holter run` alone, root", lambda mode: mode.watch == RUN and mode.user == ROOT_USER),
    ("`holter run` alone, ordinary user", lambda mode: mode.watch == RUN and mode.user == ORDINARY_USER),
    ("after the fact, sidecar killed too", lambda mode: mode.watch == AFTER),
    ("after the fact, never a sidecar", lambda mode: mode.watch == ALONE),
    ("all modes", lambda mode: True),
)


def write_page(cases: Sequence[Case], faults: Sequence[Fault], *, held: Sequence[Case], machine: str) -> str:
    """The whole page; `held` are all held deaths, at first sight where that was written down."""
    parts = [HEAD, f"\nMeasured on {machine}.\n"]
    for share, title in ((OPEN, "Open faults"), (HELD, "Held faults")):
        chosen = [case for case in cases if case.share == share]
        parts += [f"\n## {title}\n", FIRST_SEEN if share == HELD else ""]
        parts += ["\n", *lines(_shares(chosen))] if chosen else ["\nNone yet.\n"]
    parts += ["\n## Normal ends\n\n", *lines(_normal(cases))]
    parts += ["\n## Calibration\n\n", *lines(calibration(held))]
    parts += ["\n## What was taken for what\n\n", *lines(_confusion(cases))]
    parts += ["\n## The faults\n\n", *lines(_listing(faults))]
    return "".join(parts)


def lines(texts: Iterable[str]) -> Iterator[str]:
    """Each with its newline."""
    return (f"{text}\n" for text in texts)


def _shares(cases: Sequence[Case]) -> Iterator[str]:
    yield "| mode | deaths | right | state right | abstained | sure | wrong though sure | Brier | p50 | p95 |"
    yield "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|"
    for name, is_in in GROUPS:
        inside = [case for case in cases if is_in(case.mode)]
        found = figures.measure(inside)
        if found.cases:
            yield (
                f"| {name} | {found.cases} | {_percent(found.right)} | {_percent(found.right_state)} "
                f"| {_percent(found.abstained)} | {_percent(found.confident)} | {found.wrong_confident} "
                f"| {_number(found.brier, 3)} | {_number(found.p50_s, 1)} s | {_number(found.p95_s, 1)} s |"
            )


def _normal(cases: Sequence[Case]) -> Iterator[str]:
    ends = figures.normal_ends(cases)
    wrong = figures.false_verdicts(cases)
    kinds = len({case.fault for case in ends})
    yield f"{len(ends)} normal ends of {kinds} kinds: {len(wrong)} false verdicts."
    if wrong:
        yield ""
    yield from (f"- {case.words}" for case in wrong)


def calibration(held: Sequence[Case]) -> Iterator[str]:
    """What each grade promises, and what it earned on held faults."""
    yield from CALIBRATION.splitlines()
    found = figures.earned(held)
    promised = figures.promises(found)
    for each in found:
        low, high = each.interval
        yield (
            f"| {each.grade.name.lower()} | {_percent(promised[each.grade])} | {_percent(each.share)} "
            f"| {_percent(low)} – {_percent(high)} | {each.verdicts} |"
        )


def _confusion(cases: Sequence[Case]) -> Iterator[str]:
    yield "| it was | times | told right | taken for |"
    yield "|---|---:|---:|---|"
    for truth, said in figures.confusion(cases).items():
        others = ", ".join(f"{cause} ×{times}" for cause, times in said.most_common() if cause != truth)
        yield f"| {truth} | {said.total()} | {_percent(said[truth] / said.total())} | {others} |"


def _listing(faults: Sequence[Fault]) -> Iterator[str]:
    yield "| a training that … | kind | share | state | cause |"
    yield "|---|---|---|---|---|"
    for fault in faults:
        causes = " or ".join(truth or "" for truth in fault.truths)
        yield f"| {fault.name} | {fault.kind} | {fault.share} | {fault.state} | {causes} |"


def _percent(share: float | None) -> str:
    return "" if share is None else f"{100 * share:.1f} %"


def _number(value: float | None, digits: int) -> str:
    return "" if value is None else f"{value:.{digits}f}"
