"""Makes the journals and rows that the server's benchmarks take in."""

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from holter.journal.frame import encode_record
from holter.journal.rows import RowEncoder
from holter.journal.rundir import list_segments
from holter.journal.writer import JournalWriter
from holter.model.clock import Clock
from holter.model.records import Configured, Described, Opened, Totals
from holter.model.run_row import RunRow

STARTED_NS = 1_700_000_000_000_000_000
HOST = "another-machine"


def write_journal(directory: Path, run: str, *, rows: int, keys: int, seed: int) -> tuple[str, bytes]:
    """A journal of a training far away, as its id and its bytes; float32 noise on a curve, times with jitter."""
    rng = np.random.default_rng(seed)
    began_ns = STARTED_NS + seed * 1_000_003

    def prologue() -> Iterator[bytes]:
        yield encode_record(
            Opened(
                at_ns=began_ns,
                run=run,
                writer="client",
                host=HOST,
                boot_id="b",
                pid=100 + seed,
                process_started=1,
                holter="0",
            )
        )
        if encoder is not None and encoder.rows:
            last_ns, step = encoder.last_row or (None, None)
            yield encode_record(
                Totals(
                    at_ns=began_ns,
                    rows=encoder.rows,
                    last=encoder.last_values(),
                    last_step=step,
                    last_at_ns=last_ns,
                    highest_step=step,
                )
            )
        if encoder is not None:
            yield from encoder.declarations()

    encoder: RowEncoder | None = None
    writer = JournalWriter(str(directory), prologue, clock=Clock())
    encoder = RowEncoder(writer.append_held)
    writer.record(Described(at_ns=began_ns, project="bench", name=run, started_ns=began_ns))
    writer.record(Configured(at_ns=began_ns, config={"lr": 0.001 * seed, "depth": seed}))
    names = [f"metric/{number}" for number in range(keys)]
    curve = np.exp(-np.arange(rows) / rows * 3)[:, None]
    values = (curve + rng.normal(0, 0.05, (rows, keys))).astype(np.float32).astype(float).tolist()
    times = (began_ns + np.cumsum(rng.normal(1e8, 2e6, rows)).astype(np.int64)).tolist()
    for step, (at_ns, row) in enumerate(zip(times, values, strict=True)):
        encoder.append(dict(zip(names, row, strict=True)), step, at_ns)
    writer.close()
    paths = list_segments(str(directory))[writer.id.hex()]
    data = b"".join(Path(path).read_bytes() for path in paths)
    for path in paths:
        os.unlink(path)
    return writer.id.hex(), data


def make_rows(count: int, keys: int, *, start: int = 0) -> list[RunRow]:
    """Rows of the table of runs, with so many configured and summary values each."""
    rng = np.random.default_rng(start)
    values = rng.normal(size=(count, keys)).tolist()
    states = rng.choice(["finished", "crashed", "failed", "running"], count, p=[0.6, 0.2, 0.1, 0.1]).tolist()
    rates = (10.0 ** rng.uniform(-6, -2, count)).tolist()
    rows = []
    for number in range(count):
        own = values[number]
        config = {"lr": rates[number], "optimizer": ["adam", "sgd"][number % 2]}
        config |= {f"c{key}": own[key] for key in range(keys // 2 - 2)}
        summary = {f"s{key}": own[key] for key in range(keys // 2 - 2, keys - 3)} | {"loss": own[-1]}
        rows.append(
            RunRow(
                id=f"r{start + number:07}",
                name=f"run-{start + number}",
                project=f"p{number % 7}",
                state=states[number],
                heard_ns=STARTED_NS if states[number] == "running" else None,
                started_ns=STARTED_NS + (start + number) * 1_000_000_000,
                config=config,
                summary=summary,
            )
        )
    return rows
