"""CSV files: each is a run, each line a row; as W&B, TensorBoard, Neptune and holter itself export them."""

import csv
import os
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import IO, Any

from holter.errors import UsageError
from holter.importing.imported_run import ImportedRun, Origin

KIND = "csv"
STEPS = ("_step", "step", "steps", "global_step", "iteration", "iter", "epoch")
TIMES = ("_timestamp", "timestamp", "wall time", "wall_time", "datetime", "time")
REPORT_EVERY = 1_000
MOST_COLUMNS = 100_000
LONGEST_LINE = 16 << 20


def find_runs(path: str) -> Iterator["CsvRun"]:
    """The file, or those of a folder in the order of their names. Raises UsageError where there is none."""
    if not os.path.exists(path):
        raise UsageError(f"there is no file or folder {path!r}")
    if os.path.isfile(path):
        yield CsvRun(path)
        return
    names = sorted(name for name in os.listdir(path) if name.lower().endswith((".csv", ".tsv")))
    paths = [os.path.join(path, name) for name in names if os.path.isfile(os.path.join(path, name))]
    if not paths:
        raise UsageError(f"there are no files in {path!r} whose names end in .csv or .tsv")
    yield from map(CsvRun, paths)


class CsvRun:
    """A file, read line by line."""

    def __init__(self, path: str) -> None:
        self._path = os.path.realpath(path)
        name = os.path.splitext(os.path.basename(self._path))[0]
        project = os.path.basename(os.path.dirname(self._path)) or "imported"
        started = self._started_ns()
        self.origin = Origin(kind=KIND, identity=self._path, project=project, name=name, started_ns=started)
        self.size_bytes = os.path.getsize(self._path)

    def read_into(self, run: ImportedRun) -> Iterator[int]:
        """Rows; lines without a step are counted, and those without a time follow the one before."""
        names, lines = self._open()
        step_at, time_at = _place(names, STEPS), _place(names, TIMES)
        columns = [(at, name) for at, name in enumerate(names) if at not in (step_at, time_at) and name != "_runtime"]
        at_ns = self.origin.started_ns
        for count, cells in enumerate(lines):
            step = count if step_at is None else _number(cells[step_at]) if step_at < len(cells) else None
            if not isinstance(step, int | float) or step != step // 1:
                run.left_out["lines without a step"] += 1
                continue
            if time_at is not None and time_at < len(cells):
                at_ns = _time_ns(cells[time_at]) or at_ns
            row = {name: _value(cells[at]) for at, name in columns if at < len(cells) and cells[at] != ""}
            if row:
                run.log(row, int(step), at_ns)
            if len(cells) > len(names):
                run.left_out["cells beyond the named columns"] += len(cells) - len(names)
            if count % REPORT_EVERY == 0:
                yield min(self.size_bytes, count * 50)
        run.ended(0)  # a table knows nothing of ends
        yield self.size_bytes

    def _open(self) -> tuple[list[str], Iterator[list[str]]]:
        """Raises UsageError where it is no such file."""
        lines = self._lines()
        try:
            names = next(lines)
        except StopIteration:
            raise UsageError(f"{self._path} is empty: its first line has the names of its columns") from None
        if len(names) > MOST_COLUMNS:
            raise UsageError(f"{self._path} has {len(names):,} columns, more than {MOST_COLUMNS:,}")
        return [name.strip() or f"column {at}" for at, name in enumerate(names, 1)], lines

    def _lines(self) -> Iterator[list[str]]:
        with open(self._path, encoding="utf-8-sig", errors="replace", newline="") as file:
            head = file.readline(1 << 20)
            file.seek(0)
            delimiter = max(",;\t", key=head.count)
            try:
                yield from csv.reader(_bounded(file), delimiter=delimiter)
            except csv.Error as error:
                raise UsageError(f"{self._path} can't be read as CSV: {error}") from error

    def _started_ns(self) -> int:
        names, lines = self._open()
        place, first = _place(names, TIMES), next(lines, [])
        found = _time_ns(first[place]) if place is not None and place < len(first) else 0
        return found or int(os.path.getmtime(self._path) * 1e9)


def _bounded(file: IO[str]) -> Iterator[str]:
    return (line.replace("\0", "") for line in iter(lambda: file.readline(LONGEST_LINE), ""))


def _place(names: list[str], wanted: tuple[str, ...]) -> int | None:
    lower = [name.lower() for name in names]
    return next((lower.index(name) for name in wanted if name in lower), None)


def _number(text: str) -> int | float | None:
    try:
        return int(text) if len(text) < 20 else float(text)
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        return None


def _value(text: str) -> Any:  # noqa: ANN401  a number or a text
    number = _number(text)
    return text if number is None else number


def _time_ns(text: str) -> int:
    """Seconds or milliseconds since 1970, or a date; 0 for what is neither."""
    number = _number(text)
    if number is not None:
        seconds = number / 1000 if number > 1e11 else number
        return int(seconds * 1e9) if 1e8 < seconds < 9e9 else 0
    try:
        moment = datetime.fromisoformat(text)
        return int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1e9)
    except (ValueError, OverflowError):
        return 0
