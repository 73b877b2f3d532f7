"""Runs of another machine, and the way in which their journals reach a server."""

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

from holter.journal.frame import encode_record
from holter.journal.reader import scan
from holter.journal.rows import RowEncoder
from holter.journal.rundir import list_segments
from holter.journal.writer import JournalWriter
from holter.model.record import Record
from holter.model.records import Beat, Configured, Described, Finished, Opened, Totals
from holter.server.ingest.ingest import Ingest
from tests.clocks import FakeClock

PID = 2**22 + 7


class RemoteJournal:
    """A journal on another machine, whose clock may be wrong."""

    def __init__(
        self,
        directory: Path,
        run: str,
        *,
        clock: FakeClock,
        writer: str = "client",
        attempt: int = 1,
        boot_id: str = "their-boot",
    ) -> None:
        self.directory = directory
        self.run = run
        self.clock = clock
        self.project = "p"
        self._opened = Opened(
            at_ns=clock.now_ns(),
            run=run,
            writer=writer,
            host="far-away",
            boot_id=boot_id,
            pid=PID,
            process_started=1,
            holter="0",
            attempt=attempt,
        )
        self.rows: RowEncoder | None = None
        self.writer = JournalWriter(str(directory), self._prologue, clock=clock)
        # A random one would make an example of a property come out otherwise when it is tried again.
        others = len(list_segments(str(directory))) if directory.exists() else 0
        self.writer.id = hashlib.sha256(f"{directory.name} {run} {writer} {others}".encode()).digest()[:16]
        self.rows = RowEncoder(self.writer.append_held)
        self.writer.open()
        self.step = 0

    @property
    def id(self) -> str:
        return self.writer.id.hex()

    def say(self, *records: Record) -> None:
        for record in records:
            self.writer.record(record)

    def describe(self) -> None:
        at_ns = self.clock.now_ns()
        self.say(
            Described(at_ns=at_ns, project=self.project, name="far", started_ns=at_ns),
            Configured(at_ns=at_ns, config={"lr": 1}),
        )

    def log(self, count: int = 1) -> None:
        assert self.rows is not None
        for _ in range(count):
            self.rows.append(
                {"loss": self.step * 0.5, "acc": float(self.step)}, self.step, self.clock.now_ns() + self.step
            )
            self.step += 1

    def beat(self, up_s: float = 0.0) -> None:
        self.say(Beat(at_ns=self.clock.now_ns(), monotonic_ns=int(up_s * 1e9), pids=(PID,)))

    def finish(self) -> None:
        self.say(Finished(at_ns=self.clock.now_ns(), exit_code=0))

    def stream(self) -> bytes:
        """All that a sidecar would send by now."""
        segments = [Path(path).read_bytes() for path in list_segments(str(self.directory))[self.id]]
        return b"".join(data[: scan(data).end] for data in segments)

    def _prologue(self) -> Iterator[bytes]:
        yield encode_record(self._opened)
        if self.rows is None:
            return
        if self.rows.rows:
            at_ns, step = self.rows.last_row or (None, None)
            yield encode_record(
                Totals(
                    at_ns=1,
                    rows=self.rows.rows,
                    last=self.rows.last_values(),
                    last_step=step,
                    last_at_ns=at_ns,
                    highest_step=step,
                )
            )
        yield from self.rows.declarations()


def send(ingest: Ingest, journal: RemoteJournal, *, have: int = 0, piece: int = 1 << 20) -> int:
    """Send all of a journal from an offset on, as a sidecar does."""
    data = journal.stream()
    while have < len(data):
        have = ingest.accept(journal.id, journal.run, offset=have, data=data[have : have + piece])
    return have


def stamp(directory: Path, clock: FakeClock) -> None:
    """Give the files of a received run the time of the test's clock."""
    for path in directory.iterdir():
        os.utime(path, ns=(clock.ns, clock.ns))
