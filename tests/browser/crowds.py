"""Many runs at once: their journals as another machine would have written them, without a process for each."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from holter.journal.frame import encode_record
from holter.journal.rows import RowEncoder
from holter.journal.rundir import list_segments
from holter.journal.writer import JournalWriter
from holter.model.clock import Clock
from holter.model.record import Record
from holter.model.records import CellStarted, Configured, Described, Exited, Finished, Opened
from tests.e2e.programs import data_directory, wait_until
from tests.e2e.servers import Served


def _five(value: float) -> list[dict[str, float]]:
    return [{"loss": value + step} for step in range(5)]


FIVE = _five(0.0)


def record_crowd(server: Served, many: int, config_of: Callable[[int], dict[str, Any]]) -> None:
    """So many finished runs of the project `sweep` with five steps of a loss; waits until the server has them all."""
    for number in range(many):
        config = config_of(number)
        described = {"project": "sweep", "name": f"trial {number}"}
        _write(f"crowd{number:03}", described, config=config, rows=_five(number), last_words=_end)

    def have_ended() -> bool:
        return bool(server.get("/runs", project="sweep", filter="state = finished")["total"] == many)

    try:
        wait_until(have_ended)
    except AssertionError:
        states = [(run["id"], run["state"], run.get("because")) for run in server.get("/runs", limit=500)["runs"]]
        others = [each for each in states if each[1] != "finished"]
        said = server.output.read_text()
        raise AssertionError(f"{len(states)} of {many} are known, these not as finished: {others}; {said}") from None


def write_run(
    run: str, *, project: str, config: dict[str, Any], rows: Sequence[dict[str, float]], exit_code: int = 0
) -> None:
    """A run with rows of its own, a step for each, that ended."""
    end = partial(_end, exit_code=exit_code)
    _write(run, {"project": project, "name": run}, config=config, rows=rows, last_words=end)


def write_resumed(run: str, *, project: str, attempts: Sequence[range]) -> None:
    """A run that failed and went on, each attempt with its number as loss: the steps of each attempt."""
    for number, steps in enumerate(attempts, start=1):
        rows = [{"train/loss": float(number), "train/acc": 0.1 * number}] * len(steps)
        words = partial(_end, exit_code=int(number < len(attempts)))
        _write(run, {"project": project, "name": run}, rows=rows, attempt=(number, steps.start), last_words=words)


def write_finished(run: str, *, value: float, config: dict[str, Any] | None = None, **described: Any) -> None:
    """A run whose loss grows by one with each of its five steps, from a value on; `described` has its project."""
    _write(run, {"name": run, **described}, config=config, rows=_five(value), last_words=_end)


def write_dead(run: str, *, project: str) -> None:
    """A run that ended with an error."""
    _write(run, {"project": project, "name": run}, last_words=lambda at_ns: _end(at_ns, exit_code=1))


def write_notebook(run: str, *, project: str, cell: str) -> None:
    """The run of a notebook that ended with an error in a cell."""

    def fail(at_ns: int) -> list[Record]:
        return [CellStarted(at_ns=at_ns, ordinal=9, number=12, source=cell), *_end(at_ns, exit_code=1)]

    _write(run, {"project": project, "name": run}, last_words=fail)


def write_silent(run: str, *, project: str) -> None:
    """A run of another machine of which nothing is heard any more, for whatever reason."""
    _write(run, {"project": project, "name": run})


def write_vanished(run: str, *, project: str) -> None:
    """A run of another machine whose process was gone when its sidecar looked: nobody saw how."""
    write_silent(run, project=project)
    directory = str(data_directory() / "runs" / run)
    [journal] = list_segments(directory)
    clock = Clock()
    writer = JournalWriter(directory, lambda: [encode_record(_opened(run, clock.now_ns(), "sidecar"))], clock=clock)
    writer.record(Exited(at_ns=clock.now_ns(), journal=journal, pid=100, source="pidfd"))
    writer.close()


def _opened(run: str, at_ns: int, writer: str, /, attempt: int = 1) -> Opened:
    return Opened(
        at_ns=at_ns,
        run=run,
        writer=writer,
        host="elsewhere",
        boot_id="b",
        pid=100,
        process_started=attempt,
        holter="0",
        attempt=attempt,
    )


def _end(at_ns: int, *, exit_code: int = 0) -> list[Record]:
    return [Finished(at_ns=at_ns, exit_code=exit_code)]


def _write(
    run: str,
    described: dict[str, Any],
    *,
    config: dict[str, Any] | None = None,
    rows: Sequence[dict[str, float]] = FIVE,
    attempt: tuple[int, int] = (1, 0),
    last_words: Callable[[int], list[Record]] = lambda at_ns: [],
) -> None:
    clock = Clock()
    began_ns = clock.now_ns()

    def prologue() -> Iterator[bytes]:
        yield encode_record(_opened(run, began_ns, "client", attempt[0]))
        yield from encoder.declarations()

    directory = data_directory() / "runs" / run
    directory.mkdir(parents=True, exist_ok=True)
    writer = JournalWriter(str(directory), prologue, clock=clock)
    encoder = RowEncoder(writer.append_held)
    writer.record(Described(at_ns=began_ns, started_ns=began_ns, **described))
    writer.record(Configured(at_ns=began_ns, config=config or {}))
    for step, row in enumerate(rows, start=attempt[1]):
        encoder.append(row, step, clock.now_ns())
    for record in last_words(clock.now_ns()):
        writer.record(record)
    writer.close()
