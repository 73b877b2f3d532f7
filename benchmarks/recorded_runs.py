"""Runs with the points that other trackers get too, written by the journal's own writer; and `holter ui` on them."""

import json
import re
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.asked_server import AskedServer, Question, free_port
from benchmarks.peer_fill import EVERY_S, STARTED_S, config_of, make_rows, run_name
from benchmarks.peer_servers import DataSet
from benchmarks.trials import environment
from holter.journal.frame import encode_record
from holter.journal.rows import RowEncoder
from holter.journal.rundir import make_private, run_directory
from holter.journal.writer import JournalWriter
from holter.model.clock import Clock
from holter.model.records import Configured, Described, Finished, Opened, Totals

API = "/api/v1"
INDEXED_WITHIN_S = 600.0
PRINTED_WITHIN_S = 30.0
_NS = 1_000_000_000


def record_runs(home: Path, data: DataSet) -> None:
    """All runs of a data set, each finished, as if they had been recorded on another machine."""
    for run in range(data.runs):
        _record(home, data, run)


def run_id(data: DataSet, run: int) -> str:
    return f"{data.project}{run:05}"


def _record(home: Path, data: DataSet, number: int) -> None:
    run = run_id(data, number)
    began_ns = (STARTED_S + number) * _NS
    directory = run_directory(str(home), run)
    make_private(directory)

    def prologue() -> Iterator[bytes]:
        yield encode_record(
            Opened(
                at_ns=began_ns,
                run=run,
                writer="client",
                host="another-machine",
                boot_id="b",
                pid=2**22 + number,
                process_started=1,
                holter="0",
            )
        )
        if encoder is None:
            return
        yield encode_record(Totals(at_ns=began_ns, rows=encoder.rows, last=encoder.last_values(), last_at_ns=began_ns))
        yield from encoder.declarations()

    encoder: RowEncoder | None = None
    writer = JournalWriter(directory, prologue, clock=Clock())
    encoder = RowEncoder(writer.append_held)
    writer.record(Described(at_ns=began_ns, project=data.project, name=run_name(number), started_ns=began_ns))
    writer.record(Configured(at_ns=began_ns, config=config_of(number)))
    every_ns = int(EVERY_S * _NS)
    for step, row in make_rows(number, data.keys, points=data.points):
        encoder.append(row, step, began_ns + step * every_ns)
    writer.record(Finished(at_ns=began_ns + data.points * every_ns, exit_code=0))
    writer.close()


class Ui(AskedServer):
    """`holter ui` on a directory, ready to be asked with its token."""

    def __init__(self, home: Path) -> None:
        port = free_port()
        command = [sys.executable, "-m", "holter", "ui", "--no-browser", "--port", str(port)]
        super().__init__(command, environment(home), port=port, directory=home)
        try:
            self.wait_until_it_answers(f"{API}/info")
            self.token = self._read_token()
        except (RuntimeError, TimeoutError):
            self.close()
            raise
        self.address = f"http://127.0.0.1:{port}"
        self.present(self.token)

    def _read_token(self) -> str:
        deadline = time.monotonic() + PRINTED_WITHIN_S
        while (found := re.search(r"token=(\w+)\n", self.said)) is None:
            if time.monotonic() > deadline:
                raise TimeoutError(f"`holter ui` answers and has printed no URL: {self.said}")
            time.sleep(0.02)
        return found[1]

    def wait_until_it_has(self, *data: DataSet) -> None:
        """Until every point of these is in its index. Raises TimeoutError."""
        deadline = time.monotonic() + INDEXED_WITHIN_S
        for each in data:
            while self.rows_of(each.project) < each.runs * each.points:
                if time.monotonic() > deadline:
                    raise TimeoutError(f"{each.project} was not indexed within {INDEXED_WITHIN_S:g} s")
                time.sleep(0.2)

    def rows_of(self, project: str) -> int:
        """How many rows of a project are in the index."""
        answer = json.loads(self.ask(Question(path=f"{API}/runs?project={project}&limit=10000")))
        return sum(run["rows"] for run in answer["runs"])
