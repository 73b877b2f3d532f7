"""Reads runs back: rows straight from the journals, states as a user would, with the `holter` command."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from benchmarks.trials import environment
from holter.errors import JournalError
from holter.journal.decoding import LoggedRow, tell_segment
from holter.journal.digest import read_opened
from holter.journal.rundir import list_segments

HOLTER = Path(sys.executable).with_name("holter")


def run_directories(data: Path) -> list[Path]:
    return sorted(data.glob("runs/*"))


def read_rows(run: Path) -> Iterator[LoggedRow]:
    """Every whole row that the program wrote, in the order of its journal; the sidecar's samples are not among them."""
    for paths in list_segments(str(run)).values():
        opened = read_opened(paths[0])
        if opened is not None and opened.writer == "client":
            for path in paths:
                yield from _rows_of(Path(path).read_bytes())


def _rows_of(data: bytes) -> Iterator[LoggedRow]:
    try:
        told = tell_segment(data)
    except JournalError:  # born and not yet filled
        return
    for _, row in told.rows():
        yield row


def holter(data: Path, *arguments: str) -> str:
    """What the command prints for the runs in this directory. Raises CalledProcessError."""
    environ = environment(data) | {"HOLTER_DIR": str(data)}
    done = subprocess.run([str(HOLTER), *arguments], env=environ, capture_output=True, text=True, check=True)
    return done.stdout


def read_state(data: Path, run: str) -> str:
    """The state that a user is shown; what the command complained about where there is none."""
    try:
        return str(json.loads(holter(data, "why", run, "--json"))["state"])
    except subprocess.CalledProcessError as error:
        said: list[str] = error.stderr.splitlines() or ["nothing"]
        return f"`holter why` failed and said: {said[-1]}"
