"""Small training programs that really run, and what is left of them."""

import os
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType

from holter.catalog.catalog import Catalog
from holter.catalog.read.loaded_run import LoadedRun
from holter.journal.decoding import LoggedRow
from holter.journal.rundir import list_segments
from holter.model.record import Record
from tests.unit.journal.recording import read


class Program(subprocess.Popen[str]):
    """A running program; a test that fails does not leave it behind."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            self.kill()
        super().__exit__(kind, error, trace)


def start(source: str, **environment: str) -> Program:
    """Start a program; it inherits the test's HOLTER_DIR."""
    return Program(
        [sys.executable, "-c", textwrap.dedent(source)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "HOLTER_QUIET": "1", **environment},
    )


def run(source: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a program to its end."""
    with start(source, **environment) as program:
        out, err = program.communicate(timeout=60)
        return subprocess.CompletedProcess(program.args, program.returncode, out, err)


def data_directory() -> Path:
    return Path(os.environ["HOLTER_DIR"])


def only_run(*, patience_s: float = 60.0) -> LoadedRun:
    """The one run that there is, as `holter why` would load it. Its sidecar may be slow on a busy machine."""
    catalog = Catalog(str(data_directory()))
    (row,) = catalog.rows()
    return catalog.load(row.id, patience_s=patience_s)


def records(directory: str, writer: str = "client") -> list[Record | LoggedRow]:
    """Everything that journals of this kind of writer say, in the order of its times."""
    found = [record for journal in _journals(directory, writer) for record in journal]
    return sorted(found, key=lambda record: record.at_ns)


def rows(directory: str, writer: str = "client") -> list[LoggedRow]:
    return [record for record in records(directory, writer) if isinstance(record, LoggedRow)]


def said(directory: str, kind: type[Record], writer: str = "client") -> list[Record]:
    return [record for record in records(directory, writer) if isinstance(record, kind)]


def _journals(directory: str, writer: str) -> Iterator[list[Record | LoggedRow]]:
    for paths in list_segments(directory).values():
        journal = [record for path in paths for record in _segment(Path(path).read_bytes())]
        if journal and getattr(journal[0], "writer", "") == writer:
            yield journal


def _segment(data: bytes) -> list[Record | LoggedRow]:
    if not data.strip(b"\0"):
        return []  # born this moment
    return read(data)


def sidecars(directory: str) -> list[int]:
    """The pids of living sidecars that were started for a run directory (or for any below it)."""
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                command = _command_of(entry)
                parent = (entry / "stat").read_text().rpartition(")")[2].split()[1]
            except (OSError, ValueError):  # gone meanwhile
                continue
            if b"holter.sidecar" in command and directory.encode() in command:
                parents[int(entry.name)] = (int(parent), command)
    # A process that is about to become another one still has the command line of its parent: the shell's child is the
    # sidecar to be, a sidecar's child is none.
    shells = {pid for pid, (_, command) in parents.items() if b"/bin/sh" in command}
    first = {pid for pid, (parent, _) in parents.items() if parent not in parents.keys() - shells}
    return sorted(first - {parents[pid][0] for pid in first})


def _command_of(process: Path) -> bytes:
    """Empty once all of its threads have gone: only then is closed what it had open."""
    if command := (process / "cmdline").read_bytes():
        return command
    return next(filter(None, ((thread / "cmdline").read_bytes() for thread in (process / "task").iterdir())), b"")


def wait_for_cause(cause: str, within_s: float = 60.0) -> None:
    """Wait until the only run has this cause: it comes a moment after the state, when the sidecar has looked."""
    began = time.monotonic()
    while (loaded := only_run()).row.cause != cause:
        if time.monotonic() - began > within_s:
            raise AssertionError(f"{loaded.row.cause} after {within_s} s: {loaded.row}, {loaded.explanation}")
        time.sleep(0.1)


def wait_until(claim: Callable[[], object], within_s: float = 60.0) -> None:
    """Wait for a claim (a function without arguments) to become true; fail with its name where it does not."""
    began = time.monotonic()
    while not claim():
        waited = time.monotonic() - began
        if waited > within_s:
            raise AssertionError(f"not within {within_s} s: {claim}")
        # Who asks fifty times a second takes the processor from those for whom it waits.
        time.sleep(min(max(0.02, waited / 8), 0.25))
