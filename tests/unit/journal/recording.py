"""Small journals for the tests, and the reading of them."""

import contextlib
import os
import struct
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from holter.journal.decoding import LoggedRow, tell_segment
from holter.journal.frame import encode_record
from holter.journal.reader import Frame
from holter.journal.rows import RowEncoder
from holter.journal.rundir import list_segments
from holter.journal.writer import JournalWriter
from holter.model.clock import Clock
from holter.model.record import Record
from holter.model.records import Declared, Opened, Totals

STARTED_NS = 1_700_000_000_000_000_000


class SteppedClock(Clock):
    """Moves on by a microsecond with each look, and by more when told to."""

    def __init__(self) -> None:
        self.ns = STARTED_NS

    def now_ns(self) -> int:
        self.ns += 1_000
        return self.ns


class Recording:
    """A journal as a client keeps it: each segment begins with who writes and what came before."""

    def __init__(self, directory: Path | str, *, limit_bytes: int = -1) -> None:
        self.directory = str(directory)
        self.clock = SteppedClock()
        self.journal = JournalWriter(self.directory, self._prologue, clock=self.clock, limit_bytes=limit_bytes)
        # A random one would make an example of a property come out otherwise when it is tried again.
        others = len(list_segments(self.directory)) if os.path.exists(self.directory) else 0
        self.journal.id = bytes(range(others, others + 16))
        self.rows = RowEncoder(self.journal.append_held)

    def log(self, row: dict[str, Any], step: int = 0) -> None:
        """Take the fast path first, as the client does."""
        with self.journal.lock:
            at_ns = self.clock.now_ns()
            with contextlib.suppress(struct.error):
                if self.rows.append_packed(row, step, at_ns):
                    return
            self.rows.append(row, step, at_ns)

    def say(self, record: Record) -> None:
        self.journal.record(record)

    def paths(self) -> list[str]:
        return list_segments(self.directory)[self.journal.id.hex()]

    def closed(self) -> list[bytes]:
        """The bytes of its segments, when it is complete."""
        self.journal.close()
        return [Path(path).read_bytes() for path in self.paths()]

    def _prologue(self) -> Iterator[bytes]:
        yield encode_record(opened())
        if self.rows.rows:
            at_ns, step = self.rows.last_row or (None, None)
            last = self.rows.last_values()
            yield encode_record(Totals(at_ns=1, rows=self.rows.rows, last=last, last_step=step, last_at_ns=at_ns))
        yield from self.rows.declarations()


def opened() -> Opened:
    return Opened(at_ns=1, run="r", writer="client", host="node", boot_id="b", pid=7, process_started=1, holter="0.1.0")


def scratch() -> "tempfile.TemporaryDirectory[str]":
    """A directory in memory, where there is one: property tests make hundreds of journals."""
    return tempfile.TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None)


def record_small() -> bytes:
    """A segment with a packed row, a loose one and a sentence, between its declarations."""
    with scratch() as folder:
        recording = Recording(folder)
        for step in range(5):
            recording.log({"loss": 0.5 / (step + 1), "seen": step}, step)
        recording.log({"phase": "validation"}, 5)
        recording.say(Declared(at_ns=1, number=9, keys=("a",), types="d"))
        recording.log({"loss": float("nan"), "seen": -1}, 6)
        [data] = recording.closed()
    return data


def read(data: bytes) -> list[Record | LoggedRow]:
    """Everything in order."""
    told = tell_segment(data)
    found: list[tuple[int, Record | LoggedRow]] = [*told.records, *told.rows()]
    return [each for _, each in sorted(found, key=lambda pair: pair[0])]


def read_rows(*segments: bytes) -> list[LoggedRow]:
    return [each for data in segments for each in read(data) if isinstance(each, LoggedRow)]


def end_of(frame: Frame) -> int:
    return frame.stop + 4


def leave_open(recording: Recording) -> list[bytes]:
    """What lies on the disk when the writing process dies now."""
    return [Path(path).read_bytes() for path in recording.paths()]


def count_files(directory: Path | str) -> int:
    return len(os.listdir(directory))
