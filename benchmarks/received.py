"""Compares what a server has of a run with what was recorded: byte for byte, and point for point."""

import os
import time
from pathlib import Path
from typing import Any

import msgspec

from benchmarks.server_process import ServerProcess
from holter.journal.columns import merge_rows, read_tables
from holter.journal.digest import read_opened
from holter.journal.frame import HEADER_SIZE, decode_header
from holter.journal.reader import scan
from holter.journal.rundir import list_segments, run_directory


class Compared(msgspec.Struct, frozen=True, kw_only=True):
    """How many points were recorded, and what of them is missing, there twice or out of order on the server."""

    points: int
    lost: int
    doubled: int
    is_in_order: bool
    is_same_bytes: bool


def journal_bytes(directory: str) -> dict[str, bytes]:
    """By journal, all of it: each segment at its offset, as far as there are records."""
    found = {}
    for journal, paths in list_segments(directory).items():
        stream = bytearray()
        for path in paths:
            data = Path(path).read_bytes()
            if data.strip(b"\0"):  # else it was born this moment
                base = decode_header(data[:HEADER_SIZE]).base
                stream[base:] = data[: scan(data).end]
        found[journal] = bytes(stream)
    return found


def has_all(server_data: Path, recorded: str, run: str, /) -> bool:
    """Whether the server has every byte of every journal."""
    kept = run_directory(str(server_data), run)
    return os.path.isdir(kept) and journal_bytes(kept) == journal_bytes(recorded)


def recorded_rows(directory: str) -> list[dict[str, Any]]:
    """The rows of the programs of a run, in the order of steps."""
    programs = [
        paths
        for paths in list_segments(directory).values()
        if (opened := read_opened(paths[0])) is not None and opened.writer == "client"
    ]
    return list(merge_rows([read_tables(paths) for paths in programs]))


def compare(server: ServerProcess, directory: str, *, run: str, key: str, within_s: float = 60.0) -> Compared:
    """Wait until everything has arrived, for a bounded time; then look."""
    deadline = time.monotonic() + within_s
    while not has_all(server.data, directory, run) and time.monotonic() < deadline:
        time.sleep(0.1)
    ours = [(row["_step"], row[key]) for row in recorded_rows(directory) if key in row]
    theirs = _their_points(server, run, key)
    while len(theirs) < len(ours) and time.monotonic() < deadline:
        time.sleep(0.2)
        theirs = _their_points(server, run, key)
    return Compared(
        points=len(ours),
        lost=len(set(ours) - set(theirs)),
        doubled=len(theirs) - len(set(theirs)),
        is_in_order=theirs == ours,
        is_same_bytes=has_all(server.data, directory, run),
    )


def _their_points(server: ServerProcess, run: str, key: str, /) -> list[tuple[int, float]]:
    columns = server.points(run, key)
    return list(zip(map(int, columns["step"].tolist()), columns["value"].tolist(), strict=True))
