"""Many runs at once: their journals as another machine would have written them, without a process for each."""

from collections.abc import Callable, Iterator
from typing import Any

from holter.journal.frame import encode_record
from holter.journal.rows import RowEncoder
from holter.journal.writer import JournalWriter
from holter.model.clock import Clock
from holter.model.records import Configured, Described, Finished, Opened
from tests.e2e.programs import data_directory, wait_until
from tests.e2e.servers import Served


def record_crowd(server: Served, many: int, config_of: Callable[[int], dict[str, Any]]) -> None:
    """So many finished runs of the project `sweep` with five steps of a loss; waits until the server has them all."""
    for number in range(many):
        _write(f"crowd{number:03}", number, config_of(number))
    wait_until(lambda: server.get("/runs", project="sweep", filter="state = finished")["total"] == many, within_s=60)


def _write(run: str, number: int, config: dict[str, Any]) -> None:
    clock = Clock()
    began_ns = clock.now_ns()
    opened = Opened(
        at_ns=began_ns,
        run=run,
        writer="client",
        host="elsewhere",
        boot_id="b",
        pid=100 + number,
        process_started=1,
        holter="0",
    )

    def prologue() -> Iterator[bytes]:
        yield encode_record(opened)
        yield from rows.declarations()

    directory = data_directory() / "runs" / run
    directory.mkdir(parents=True)
    writer = JournalWriter(str(directory), prologue, clock=clock)
    rows = RowEncoder(writer.append_held)
    writer.record(Described(at_ns=began_ns, project="sweep", name=f"trial {number}", started_ns=began_ns))
    writer.record(Configured(at_ns=began_ns, config=config))
    for step in range(5):
        rows.append({"loss": float(number + step)}, step, clock.now_ns())
    writer.record(Finished(at_ns=clock.now_ns(), exit_code=0))
    writer.close()
