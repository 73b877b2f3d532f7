"""Sweeps as lines for the terminal."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from holter.cli.figures import began, clean, duration, plural
from holter.cli.stdout import Look
from holter.cli.table import Cell, Column, render

if TYPE_CHECKING:
    from holter.sweeps.present import SweepJson, SweepLine, TrialJson

MOST_TRIALS = 50
COLOURS = {"finished": "green", "running": "blue", "failed": "red", "infeasible": "yellow", "stopped": "red"}


def table_of_sweeps(sweeps: "Sequence[SweepLine]", seen: Look, *, now: float) -> list[str]:
    """One line each."""
    columns = [
        Column("STATUS"),
        Column("NAME", least=12),
        Column("ID"),
        Column("PROJECT", least=8),
        Column("STARTED", is_right=True),
        Column("TRIALS", is_right=True),
        Column("BEST", is_right=True),
    ]
    rows = [
        [
            Cell(each.status, COLOURS.get(each.status, "")),
            Cell(clean(each.name)),
            Cell(each.id),
            Cell(clean(each.project)),
            Cell(began(each.begun_at, now)),
            Cell(str(each.trials)),
            Cell(number(each.best)),
        ]
        for each in sweeps
    ]
    return render(columns, rows, look=seen)


def shown_lines(shown: "SweepJson", seen: Look, *, now: float) -> Iterator[str]:
    """A sweep with its newest trials."""
    yield f"{clean(shown.name)} ({shown.id}) is {shown.status}" + (f": {clean(shown.reason)}" if shown.reason else "")
    of = f" of {shown.most}" if shown.most is not None else ""
    counts = ", ".join(f"{many} {state}" for state, many in shown.counts.items() if many)
    yield f"{shown.trials}{of} trials ({counts or 'none yet'}), {shown.method}" + (
        f", about {duration(shown.eta_s)} to go" if shown.eta_s else ""
    )
    if shown.best_trial is not None:
        yield f"best {clean(shown.metric)}: {number(shown.best)} (trial {shown.best_trial})"
    for region in shown.regions:
        where = f" on {clean(region.device)}" if region.device else ""
        yield f"does not fit: {clean(region.words)} ({region.died} of {region.died} died{where})"
    for place, why in shown.quarantined.items():
        yield f"gets no trials: {clean(place)} ({clean(why)})"
    working = [each for each in shown.agents if not each.is_lost]
    yield f"{plural(len(working), 'agent')} heard of in the last minute"
    if shown.rows:
        yield ""
        yield from _trials(shown, seen)
    if len(shown.rows) > MOST_TRIALS:
        yield f"the newest {MOST_TRIALS} of {len(shown.rows)} trials; `holter sweep export {shown.id}` prints all"


def number(value: float | None) -> str:
    """Six digits."""
    return "–" if value is None else f"{value:.6g}"


def _trials(shown: "SweepJson", seen: Look) -> list[str]:
    names = [each["name"] for each in shown.parameters if len(each["choices"]) != 1]
    columns = [
        Column("TRIAL", is_right=True),
        Column("STATE"),
        Column("CAUSE", least=10),
        Column(clean(shown.metric).upper() or "VALUE", is_right=True),
        Column("TRIES", is_right=True),
        *(Column(clean(name), is_right=True, least=4) for name in names),
    ]
    return render(columns, [_row(each, names) for each in shown.rows[-MOST_TRIALS:]], look=seen)


def _row(trial: "TrialJson", names: list[str]) -> list[Cell]:
    return [
        Cell(str(trial.number)),
        Cell(trial.state, COLOURS.get(trial.state, "")),
        Cell(trial.cause),
        Cell(number(trial.value if trial.value is not None else trial.now)),
        Cell(str(trial.attempts)),
        *(Cell(_value(trial.params.get(name))) for name in names),
    ]


def _value(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else clean(str(value))
