"""Taking in journals over HTTP: 100 runs × 20 keys, each range on disk before it is acknowledged, all in the index.

A real server gets what sidecars send, packed with zstd, the runs in turn. Each message has 500 rows: what a sidecar has
every second where the 100 runs together log a million points a second. What counts is the CPU time of the server from
the first message until every row is in its table, and the longest time that anybody waited for an answer. A message has
a price of its own, so in messages of 50 rows the same points cost more.
"""

import time
from pathlib import Path

import msgspec
import zstandard

from benchmarks.figures import Figure, Measured, median
from benchmarks.plan import Plan
from benchmarks.processes import snapshot
from benchmarks.server_data import write_journal
from benchmarks.server_process import ServerProcess
from holter.wire.batches import MEDIA_TYPE, Head, Kept, Range, encode_batch
from holter.wire.connection import Connection, parse_address

RUNS, KEYS = 100, 20
MANY, FEW = 500, 50
ROW_BYTES = 28 + 8 * KEYS
SENDERS = 4
"""Keys that take turns: one alone may not ask so often."""
INDEXED_WITHIN_S = 300.0


class Sent(msgspec.Struct):
    """A journal on its way."""

    run: str
    journal: str
    data: bytes
    have: int = 0

    @property
    def is_there(self) -> bool:
        return self.have >= len(self.data)

    def message(self, packer: zstandard.ZstdCompressor, rows: int) -> bytes:
        piece = self.data[self.have : self.have + rows * ROW_BYTES]
        each = Range(kind="journal", name=self.journal, offset=self.have, count=len(piece))
        return packer.compress(encode_batch(Head(id=f"{self.have}", ranges=[each]), [piece]))


class Taken(msgspec.Struct, frozen=True, kw_only=True):
    """What it cost to take in so many points."""

    points: int
    cpu_s: float
    waits_s: list[float]
    index_bytes: int
    peak_mb: float

    @property
    def s_for_a_million(self) -> float:
        return self.cpu_s / self.points * 1e6


def measure(plan: Plan) -> Measured:
    many = _take_in(plan.scratch / "ingest-many", runs=plan.pick(RUNS, 5), rows=plan.pick(10_000, 600), at_once=MANY)
    few = _take_in(plan.scratch / "ingest-few", runs=plan.pick(RUNS, 5), rows=plan.pick(1_000, 200), at_once=FEW)
    per_point = many.index_bytes / many.points
    return Measured(
        figures=[
            Figure(name="CPU seconds to take in a million points", measured=many.s_for_a_million, unit="s", at_most=1),
            Figure(name="worst batch", measured=max(many.waits_s) * 1e3, unit="ms", at_most=300),
            Figure(name="bytes per point beside the journal", measured=per_point, unit="B", at_most=7),
            Figure(name="median batch", measured=median(many.waits_s) * 1e3, unit="ms"),
            Figure(name="most memory of the server", measured=many.peak_mb, unit="MB"),
            Figure(name=f"CPU for a million points in messages of {FEW} rows", measured=few.s_for_a_million, unit="s"),
            Figure(name="worst batch of these", measured=max(few.waits_s) * 1e3, unit="ms"),
        ],
        notes=[f"{_told(many)} of {MANY} rows, {_told(few)} of {FEW}."],
    )


def _told(taken: Taken) -> str:
    return f"{taken.points:,} points in {len(taken.waits_s):,} messages"


def _take_in(scratch: Path, *, runs: int, rows: int, at_once: int) -> Taken:
    made = [
        Sent(f"run{number}", *write_journal(scratch, f"run{number}", rows=rows, keys=KEYS, seed=number))
        for number in range(runs)
    ]
    server = ServerProcess(scratch / "server")
    server.start()
    try:
        senders = [_sender(server, number) for number in range(SENDERS)]
        before = snapshot(server.pid)
        waits_s = _send_all(made, senders, at_once)
        _wait_until_indexed(server, runs * rows)
        after = snapshot(server.pid)
    finally:
        server.close()
    return Taken(
        points=runs * rows * KEYS,
        cpu_s=after.cpu_s - before.cpu_s,
        waits_s=waits_s,
        index_bytes=sum(path.stat().st_size for path in (server.data / "index").rglob("*") if path.is_file()),
        peak_mb=after.peak_mb,
    )


def _sender(server: ServerProcess, number: int) -> Connection:
    connection = server.connect()
    asked = msgspec.json.encode({"name": f"sender {number}", "scope": "write"})
    made = connection.ask("POST", "/tokens", data=asked).json(dict)
    connection.close()
    return Connection(parse_address(server.url), made["key"], timeout_s=60)


def _send_all(made: list[Sent], senders: list[Connection], at_once: int, /) -> list[float]:
    """Returns how long each message waited for its answer."""
    packer = zstandard.ZstdCompressor(level=1, write_checksum=True)
    waits_s = []
    while left := [each for each in made if not each.is_there]:
        for number, each in enumerate(left):
            message = each.message(packer, at_once)
            start = time.perf_counter()
            answer = senders[number % SENDERS].ask("POST", f"/ingest/{each.run}", data=message, media=MEDIA_TYPE)
            waits_s.append(time.perf_counter() - start)
            each.have = answer.json(Kept).offsets[each.journal]
    return waits_s


def _wait_until_indexed(server: ServerProcess, rows: int) -> None:
    deadline = time.monotonic() + INDEXED_WITHIN_S
    while sum(each["rows"] for each in server.get("/runs", limit=1000)["runs"]) < rows:
        if time.monotonic() > deadline:
            raise TimeoutError(f"not every row was indexed within {INDEXED_WITHIN_S:g} s")
        time.sleep(0.5)
