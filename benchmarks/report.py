"""Turns results into text: a table for the terminal, JSON for machines, a section for docs/benchmarks.md."""

import itertools
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from benchmarks.figures import Figure, Measured, Table, show
from benchmarks.machine import Machine, machine_sentence

BEGIN = "<!-- begin of what `benchmarks/run.py --write-docs` writes -->"
END = "<!-- end of what `benchmarks/run.py --write-docs` writes -->"
HEAD = ["figure", "bar", "measured", "verdict"]


class Result(msgspec.Struct, kw_only=True):
    """One run of one measure, as it is kept in benchmarks/results."""

    measure: str
    command: str = ""
    """What measures it again."""
    method: str
    """The measure's docstring: its title, an empty line, how it is measured."""
    date: str
    took_s: float
    foreign_cores: float
    """What all other processes of the machine used meanwhile."""
    is_quick: bool
    machine: Machine
    found: Measured


def save(result: Result, directory: Path) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    text = msgspec.json.format(msgspec.json.encode(result), indent=1)
    (directory / f"{result.measure}.json").write_bytes(text + b"\n")


def load(directory: Path) -> list[Result]:
    """The newest result of each measure that is not from a quick pass."""
    results = [msgspec.json.decode(path.read_bytes(), type=Result) for path in sorted(directory.glob("*.json"))]
    return [result for result in results if not result.is_quick]


def figure_row(figure: Figure) -> list[str]:
    bar = f"≤ {show(figure.at_most, figure.unit)}" if figure.at_most is not None else "–"
    return [figure.name, bar, show(figure.measured, figure.unit), figure.verdict]


def terminal_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    lines = [head, ["─" * width for width in widths], *rows]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines
    )


def terminal_text(result: Result) -> str:
    title = result.method.partition("\n")[0]
    parts = [f"{result.measure}: {title}", terminal_table(HEAD, [figure_row(each) for each in result.found.figures])]
    parts += [f"{table.title}\n{terminal_table(table.head, table.rows)}" for table in result.found.tables]
    parts += [*result.found.notes, _circumstances(result)]
    return "\n\n".join(parts) + "\n"


def write_docs(page: Path, results: Iterable[Result], order: Sequence[str]) -> None:
    """Replace what stands between the two marks; raises ValueError where they are missing."""
    text = page.read_text()
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise ValueError(f"{page.name} lacks the marks between which the figures go: {BEGIN!r} and {END!r}")
    ordered = sorted(results, key=lambda result: order.index(result.measure))
    page.write_text(f"{before}{BEGIN}\n\n{docs_section(ordered)}\n{END}{after}")


def docs_section(results: Sequence[Result]) -> str:
    barred = [figure_row(figure) for result in results for figure in result.found.figures if figure.at_most is not None]
    machines = itertools.groupby(results, key=lambda result: (result.date[:10], result.machine))
    where = [f"Measured on {date}: {machine_sentence(machine)}." for (date, machine), _ in machines]
    parts = [*dict.fromkeys(where), markdown_table(HEAD, barred), *map(_docs_part, results)]
    return "\n\n".join(parts) + "\n"


def markdown_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] + ["---:"] * (len(head) - 1), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _docs_part(result: Result) -> str:
    title, _, method = result.method.partition("\n")
    others = [figure for figure in result.found.figures if figure.at_most is None]
    tables = [*result.found.tables]
    if others:
        tables.insert(
            0, Table("", ["also measured", ""], [[each.name, show(each.measured, each.unit)] for each in others])
        )
    parts = [f"## {title.rstrip('.')}", method.strip()]
    for table in tables:
        parts += [f"{table.title}:"] if table.title else []
        parts.append(markdown_table(table.head, table.rows))
    command = result.command or f"benchmarks/run.py {result.measure}"
    parts += [*result.found.notes, f"`{command}`. {_circumstances(result)}"]
    return "\n\n".join(parts)


def _circumstances(result: Result) -> str:
    others = f"{result.foreign_cores:.2f} of {result.machine.cores} cores"
    return f"Took {result.took_s:,.0f} s on {result.date}; other processes, sidecars included, used {others} meanwhile."
