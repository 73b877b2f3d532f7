"""Many live runs from one process: real journals that grow, sent as sidecars send them."""

import threading
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.server_data import HOST
from benchmarks.server_process import ServerProcess
from holter.errors import Refused, Unreachable
from holter.journal.frame import encode_record
from holter.journal.rows import RowEncoder
from holter.journal.rundir import make_private
from holter.journal.writer import JournalWriter
from holter.model.clock import Clock
from holter.model.records import Beat, Described, Opened
from holter.sidecar.sending import RunSender

BEAT_S = 5.0
CONNECTIONS = 16


class SimulatedRun:
    """A training on another machine: its journal, and its sender."""

    def __init__(self, home: Path, number: int, *, keys: int) -> None:
        self.id = f"live{number:05}"
        self.directory = home / self.id
        make_private(str(self.directory))
        self.step = 0
        self.logged_at: dict[int, float] = {}
        """When each row was logged, by its step."""
        self.due_at = 0.0
        self.sender: RunSender | None = None
        self._pid = 2**22 + number
        self._names = [f"metric/{key}" for key in range(keys)]
        self._beat_at = 0.0
        self._clock = Clock()
        self._rows: RowEncoder | None = None
        self._writer = JournalWriter(str(self.directory), self._prologue, clock=self._clock)
        self._rows = RowEncoder(self._writer.append_held)
        now_ns = self._clock.now_ns()
        self._writer.record(Described(at_ns=now_ns, project="live", name=self.id, started_ns=now_ns))

    def log(self) -> None:
        """One row, and a heartbeat when it is time."""
        assert self._rows is not None
        now = time.monotonic()
        values = {name: 1.0 / (self.step + place + 1) for place, name in enumerate(self._names)}
        self._rows.append(values, self.step, self._clock.now_ns())
        self.logged_at[self.step] = now
        self.step += 1
        if now >= self._beat_at:
            self._beat_at = now + BEAT_S
            self._writer.record(Beat(at_ns=self._clock.now_ns(), monotonic_ns=0, pids=(self._pid,)))

    def close(self) -> None:
        self._writer.close()

    def _prologue(self) -> Iterator[bytes]:
        yield encode_record(
            Opened(
                at_ns=self._clock.now_ns(),
                run=self.id,
                writer="client",
                host=HOST,
                boot_id="b",
                pid=self._pid,
                process_started=1,
                holter="0",
            )
        )
        if self._rows is not None:
            yield from self._rows.declarations()


class Fleet:
    """Logs one row a second in each run, and sends at the pace that the server asks for, in threads of its own."""

    def __init__(self, server: ServerProcess, home: Path, *, runs: int, keys: int) -> None:
        self.runs = [SimulatedRun(home, number, keys=keys) for number in range(runs)]
        self.failures = 0
        self._server = server
        self._enough = threading.Event()
        lanes = min(CONNECTIONS, runs)
        self._threads = [threading.Thread(target=self._send, args=(self.runs[lane::lanes],)) for lane in range(lanes)]
        self._threads.append(threading.Thread(target=self._log))

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def close(self) -> None:
        """Idempotent; waits for the threads."""
        self._enough.set()
        for thread in self._threads:
            thread.join()
        for run in self.runs:
            run.close()

    def _log(self) -> None:
        began = time.monotonic()
        turn = 0
        while not self._enough.is_set():
            for place, run in enumerate(self.runs):
                wait_s = began + turn + place / len(self.runs) - time.monotonic()
                if wait_s > 0 and self._enough.wait(wait_s):
                    return
                run.log()
            turn += 1

    def _send(self, runs: list[SimulatedRun]) -> None:
        connection = self._server.connect()
        for place, run in enumerate(runs):
            run.sender = RunSender(str(run.directory), run.id, connection=connection)
            run.due_at = time.monotonic() + place / len(runs)
        while not self._enough.is_set():
            run = min(runs, key=lambda run: run.due_at)
            if self._enough.wait(max(0.0, run.due_at - time.monotonic())):
                break
            assert run.sender is not None
            try:
                sent = run.sender.send()
                run.due_at = time.monotonic() + sent.pace_s
            except (Refused, Unreachable) as error:
                self.failures += 1
                run.due_at = time.monotonic() + float(error.retry_s or 1)
        connection.close()
