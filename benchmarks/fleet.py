"""Many live runs in one process, over the wire: each logs, beats and sends as a sidecar does, at the pace it is told.

Run by `server_fleet.py` as a process of its own, so that its CPU time is not the server's. Prints what came of it.
"""

import argparse
import asyncio
import os
import resource
import sys
import time
from pathlib import Path

import msgspec
import zstandard

if not __package__:  # it is run, not imported
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.server_data import HOST
from holter.errors import Refused, Unreachable
from holter.journal.frame import Header, encode_header, encode_record, sealed
from holter.journal.rows import RowEncoder
from holter.model.record import Record
from holter.model.records import Beat, Configured, Described, Opened
from holter.sidecar.uploading import Backoff
from holter.wire.batches import MEDIA_TYPE, Head, Kept, Range, encode_batch

BEAT_S = 5.0
BEGIN_PER_S = 100.0
"""Not all runs of a cluster begin in the same second."""
ANSWERS_WITHIN_S = 20.0
_S = 1_000_000_000
_decode = msgspec.json.Decoder(Kept).decode


class Told(msgspec.Struct, kw_only=True):
    """What the whole fleet saw."""

    messages: int = 0
    rows: int = 0
    """Those that the server has."""
    logged: int = 0
    put_off: int = 0
    """Answers that said: later."""
    refused: int = 0
    """Answers that no second try can change."""
    broken: int = 0
    """Connections that ended without an answer."""
    slowest_s: float = 0.0
    longest_pace_s: float = 0.0
    events_bytes: int = 0


class Journal:
    """One journal of a run far away: what the server does not have yet is in memory."""

    def __init__(self, run: str, writer: str, pid: int) -> None:
        self.id = os.urandom(16)
        self.have = 0
        self.waiting = bytearray()
        self.append(encode_header(Header(self.id, 1, 0, time.time_ns())))
        self.record(
            Opened(
                at_ns=time.time_ns(),
                run=run,
                writer=writer,
                host=HOST,
                boot_id="b",
                pid=pid,
                process_started=1,
                holter="0",
            )
        )

    def record(self, record: Record) -> None:
        self.append_body(encode_record(record))

    def append_body(self, body: bytes) -> None:
        self.append(sealed(body))

    def append(self, data: bytes) -> None:
        self.waiting += data

    def range(self) -> Range:
        return Range(kind="journal", name=self.id.hex(), offset=self.have, count=len(self.waiting))

    def has_been_kept(self, offset: int) -> None:
        del self.waiting[: max(0, offset - self.have)]
        self.have = max(offset, self.have)


class SyntheticRun:
    """A program and its sidecar; rows are made when they are sent, with the times at which they would have been."""

    def __init__(self, number: int, *, keys: int, rows_per_s: float) -> None:
        self.id = f"fleet{number:05}"
        self.step = 0
        self.kept = 0
        self.backoff = Backoff()
        self._pid = 2**22 + number
        self._period_ns = int(_S / rows_per_s)
        self._program = Journal(self.id, "client", self._pid)
        self._sidecar = Journal(self.id, "sidecar", self._pid + 1)
        self._rows = RowEncoder(self._program.append_body)
        self._names = [f"metric/{key}" for key in range(keys)]
        self._row_ns = self._beat_ns = time.time_ns()
        self._program.record(Described(at_ns=self._row_ns, project="fleet", name=self.id, started_ns=self._row_ns))
        self._program.record(Configured(at_ns=self._row_ns, config={"lr": 0.001 * number, "depth": number}))

    def log(self, count: int) -> None:
        for _ in range(count):
            self._row_ns += self._period_ns
            values = {name: 1.0 / (self.step + place + 1) for place, name in enumerate(self._names)}
            self._rows.append(values, self.step, self._row_ns)
            self.step += 1

    def catch_up(self, now_ns: int) -> None:
        """Log and beat all that is due by now."""
        self.log(max(0, (now_ns - self._row_ns) // self._period_ns))
        if now_ns >= self._beat_ns:
            self._beat_ns = now_ns + int(BEAT_S * _S)
            self._sidecar.record(Beat(at_ns=now_ns, monotonic_ns=now_ns, pids=(self._pid,)))

    def message(self, packer: zstandard.ZstdCompressor) -> bytes:
        journals = [each for each in (self._sidecar, self._program) if each.waiting]
        head = Head(id=f"{self.id}.{self.step}", ranges=[each.range() for each in journals])
        return packer.compress(encode_batch(head, [bytes(each.waiting) for each in journals]))

    def has_been_kept(self, kept: Kept) -> None:
        for each in (self._sidecar, self._program):
            each.has_been_kept(kept.offsets.get(each.id.hex(), 0))
        if not self._program.waiting:
            self.kept = self.step


class Answer(msgspec.Struct, frozen=True):
    """What came back, or status 0 where nothing did."""

    status: int
    retry_s: float = 1.0
    data: bytes = b""


class Line:
    """One kept connection."""

    def __init__(self, port: int, key: str) -> None:
        self._port = port
        self._head = f"host: 127.0.0.1\r\nauthorization: Bearer {key}\r\n"
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def post(self, path: str, data: bytes) -> Answer:
        fields = f"{self._head}content-type: {MEDIA_TYPE}\r\ncontent-length: {len(data)}\r\n"
        message = f"POST /api/v1{path} HTTP/1.1\r\n{fields}\r\n".encode() + data
        was_open = self._streams is not None
        answer = await self._exchange(message)
        # As a sidecar does: what broke on a connection that had been kept is sent again at once.
        return await self._exchange(message) if answer.status == 0 and was_open else answer

    async def _exchange(self, message: bytes) -> Answer:
        try:
            async with asyncio.timeout(ANSWERS_WITHIN_S):
                if self._streams is None:
                    self._streams = await asyncio.open_connection("127.0.0.1", self._port)
                reader, writer = self._streams
                writer.write(message)
                return await self._answer(reader)
        except (OSError, EOFError, TimeoutError):
            self.close()
            return Answer(0)

    async def listen(self, told: Told) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
        writer.write(f"GET /api/v1/events HTTP/1.1\r\n{self._head}\r\n".encode())
        while data := await reader.read(1 << 18):
            told.events_bytes += len(data)

    def close(self) -> None:
        if self._streams is not None:
            self._streams[1].close()
        self._streams = None

    async def _answer(self, reader: asyncio.StreamReader) -> Answer:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
        fields = dict(line.partition(": ")[::2] for line in head.split("\r\n")[1:] if line)
        data = await reader.readexactly(int(fields.get("content-length", "0")))
        if fields.get("connection") == "close":
            self.close()
        return Answer(int(head.split(" ", 2)[1]), float(fields.get("retry-after", "1")), data)


class Fleet:
    """Runs that send side by side until it is time."""

    def __init__(self, asked: argparse.Namespace) -> None:
        self.told = Told()
        self._keys: list[str] = asked.key
        self._port: int = asked.port
        self._until = time.monotonic() + asked.seconds
        self._at_once: int = asked.at_once
        self._messages_each: int = asked.messages
        self._packer = zstandard.ZstdCompressor(level=1, write_checksum=True)
        self._runs = [
            SyntheticRun(number, keys=asked.keys, rows_per_s=asked.rows_per_s) for number in range(asked.runs)
        ]
        self._listeners: int = asked.listeners

    async def run(self) -> Told:
        listeners = [
            asyncio.create_task(Line(self._port, self._keys[0]).listen(self.told)) for _ in range(self._listeners)
        ]
        send = self._send_at_once if self._at_once else self._send_on_time
        async with asyncio.TaskGroup() as group:
            for number, run in enumerate(self._runs):
                group.create_task(send(run, number))
        for listener in listeners:
            listener.cancel()
        self.told.logged = sum(run.step for run in self._runs)
        self.told.rows = sum(run.kept for run in self._runs)
        return self.told

    async def _send_on_time(self, run: SyntheticRun, number: int) -> None:
        """As a sidecar does: what there is, then a rest as long as the server asks for."""
        line = Line(self._port, self._keys[number % len(self._keys)])
        wait_s = number / BEGIN_PER_S
        while time.monotonic() + wait_s < self._until:
            await asyncio.sleep(wait_s)
            run.catch_up(time.time_ns())
            wait_s = await self._exchange(line, run)
        line.close()

    async def _send_at_once(self, run: SyntheticRun, number: int) -> None:
        """Messages of so many rows each, one behind the other."""
        line = Line(self._port, self._keys[number % len(self._keys)])
        for _ in range(self._messages_each):
            run.log(self._at_once)
            while run.kept < run.step:
                if (wait_s := await self._exchange(line, run)) and run.kept < run.step:
                    await asyncio.sleep(wait_s)
        line.close()

    async def _exchange(self, line: Line, run: SyntheticRun) -> float:
        """Send what there is; returns how long to rest then."""
        began = time.monotonic()
        answer = await line.post(f"/ingest/{run.id}", run.message(self._packer))
        told = self.told
        told.messages += 1
        told.slowest_s = max(told.slowest_s, time.monotonic() - began)
        if answer.status == 200:
            kept = _decode(answer.data)
            run.has_been_kept(kept)
            run.backoff.reset()
            told.longest_pace_s = max(told.longest_pace_s, kept.pace_s)
            return kept.pace_s
        if answer.status == 0:
            told.broken += 1
            return run.backoff.next_s(Unreachable("no answer"))
        if answer.status in (408, 429) or answer.status >= 500:
            told.put_off += 1
        else:
            told.refused += 1
            sys.stderr.write(f"{answer.status} {answer.data[:300]!r}\n")
        return run.backoff.next_s(Refused(answer.status, "", retry_s=int(answer.retry_s)))


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("port", type=int)
    parser.add_argument("key", nargs="+")
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--keys", type=int, default=8)
    parser.add_argument("--rows-per-s", type=float, default=10.0)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--listeners", type=int, default=0)
    parser.add_argument("--at-once", type=int, default=0, help="rows of a message; 0 to send what is due")
    parser.add_argument("--messages", type=int, default=20, help="how many of those each run sends")
    return parser.parse_args()


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    sys.stdout.write(msgspec.json.encode(asyncio.run(Fleet(_parse()).run())).decode() + "\n")
