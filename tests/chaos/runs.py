"""Runs that live far away and send as a sidecar does: what was not acknowledged they keep, and send again."""

import hashlib
import threading
import time
from collections.abc import Sequence

import httpx
import msgspec
import zstandard

from benchmarks.fleet import Journal
from holter.journal.rows import RowEncoder
from holter.model.records import Beat, Configured, Described, Finished
from holter.wire.batches import MEDIA_TYPE, Head, Kept, Range, encode_batch

STEP_S = 0.1
LINE_EVERY, FILE_EVERY, BEAT_EVERY = 3, 25, 20
LATER = (408, 429)
_decode = msgspec.json.Decoder(Kept).decode


class LiveRun:
    """A program with its sidecar. Used by one thread."""

    def __init__(self, number: int, *, exit_code: int) -> None:
        self.id = f"chaos{number:04}"
        self.exit_code = exit_code
        self.step = 0
        self.lines: list[str] = []
        self.files: dict[str, bytes] = {}
        self._files_left: list[str] = []
        self._text, self._text_have = bytearray(), 0
        self._program = Journal(self.id, "client", 2**22 + 2 * number)
        self._sidecar = Journal(self.id, "sidecar", 2**22 + 2 * number + 1)
        self._rows = RowEncoder(self._program.append_body)
        now_ns = time.time_ns()
        self._program.record(Described(at_ns=now_ns, project="chaos", name=self.id, started_ns=now_ns))
        self._program.record(Configured(at_ns=now_ns, config={"number": number}))

    @property
    def values(self) -> list[float]:
        """What it has logged, by step."""
        return [_value(self.id, step) for step in range(self.step)]

    def live(self) -> None:
        """A step, and what goes with it."""
        now_ns = time.time_ns()
        self._rows.append({"loss": _value(self.id, self.step)}, self.step, now_ns)
        self.step += 1
        if self.step % LINE_EVERY == 0:
            self.lines.append(f"{self.id} step {self.step}")
            self._text += f"{self.lines[-1]}\n".encode()
        if self.step % FILE_EVERY == 0:
            path = f"files/{self.step}.txt"
            self.files[path] = f"{self.id} {self.step}\n".encode() * 500
            self._files_left.append(path)
        if self.step % BEAT_EVERY == 1:
            self._sidecar.record(Beat(at_ns=now_ns, monotonic_ns=now_ns, pids=(self._program_pid,)))

    def end(self) -> None:
        """It says how it ended."""
        self._program.record(Finished(at_ns=time.time_ns(), exit_code=self.exit_code))

    @property
    def is_sent(self) -> bool:
        """Whether all of it was acknowledged."""
        return not (self._program.waiting or self._sidecar.waiting or self._text or self._files_left)

    def send(self, http: httpx.Client, packer: zstandard.ZstdCompressor) -> None:
        """One message, and one file; where the servers are away, later."""
        try:
            self._send_message(http, packer)
            if self._files_left:
                self._send_file(http, packer, self._files_left[0])
        except (httpx.HTTPError, ConnectionError):
            return

    def _send_message(self, http: httpx.Client, packer: zstandard.ZstdCompressor) -> None:
        journals = [each for each in (self._sidecar, self._program) if each.waiting]
        ranges, data = [each.range() for each in journals], [bytes(each.waiting) for each in journals]
        if self._text:
            ranges.append(Range(kind="text", name="output.log", offset=self._text_have, count=len(self._text)))
            data.append(bytes(self._text))
        if not ranges:
            return
        message = packer.compress(encode_batch(Head(id=f"{self.id}.{self.step}", ranges=ranges), data))
        answer = http.post(f"/ingest/{self.id}", content=message, headers={"content-type": MEDIA_TYPE})
        if not _is_taken(answer):
            return
        kept = _decode(answer.content)
        assert not kept.refused, kept.refused
        for each in journals:
            each.has_been_kept(kept.offsets.get(each.id.hex(), 0))
        have = kept.offsets.get("output.log", self._text_have)
        del self._text[: max(0, have - self._text_have)]
        self._text_have = max(have, self._text_have)

    def _send_file(self, http: httpx.Client, packer: zstandard.ZstdCompressor, path: str) -> None:
        data = self.files[path]
        asked: dict[str, str | int] = {"offset": 0, "total": len(data), "sha256": hashlib.sha256(data).hexdigest()}
        headers = {"content-type": MEDIA_TYPE}
        answer = http.put(
            f"/ingest/{self.id}/files/{path}", params=asked, content=packer.compress(data), headers=headers
        )
        if _is_taken(answer) and answer.json()["is_complete"]:
            self._files_left.remove(path)

    @property
    def _program_pid(self) -> int:
        return int(self.id.removeprefix("chaos")) * 2 + 2**22


class Fleet:
    """Runs that live until they are told to end, sent by a few threads."""

    def __init__(self, runs: Sequence[LiveRun], url: str, key: str, *, threads: int = 4) -> None:
        self._enough = threading.Event()
        self._failed: list[BaseException] = []
        self._url, self._key = url, key
        self._threads = [
            threading.Thread(target=self._live, args=(runs[number::threads],), daemon=True) for number in range(threads)
        ]
        for each in self._threads:
            each.start()

    def end(self) -> None:
        """All of them end, and all that they have said is acknowledged."""
        self._enough.set()
        for each in self._threads:
            each.join()
        if self._failed:
            raise self._failed[0]

    def _live(self, runs: Sequence[LiveRun]) -> None:
        packer = zstandard.ZstdCompressor(level=1, write_checksum=True)
        limits = httpx.Limits(max_keepalive_connections=0)
        headers = {"authorization": f"Bearer {self._key}"}
        try:
            with httpx.Client(base_url=f"{self._url}/api/v1", headers=headers, limits=limits, timeout=20) as http:
                while not self._enough.is_set():
                    began = time.monotonic()
                    for each in runs:
                        each.live()
                        each.send(http, packer)
                    self._enough.wait(max(0.0, STEP_S - (time.monotonic() - began)))
                for each in runs:
                    each.end()
                while left := [each for each in runs if not each.is_sent]:
                    for each in left:
                        each.send(http, packer)
                    time.sleep(0.05)
        except BaseException as error:
            self._failed.append(error)
            raise


def _value(run: str, step: int) -> float:
    return float(int(run.removeprefix("chaos")) + step)


def _is_taken(answer: httpx.Response) -> bool:
    """False for: later. What no second try can change is a fault of the servers."""
    assert answer.status_code == 200 or answer.status_code >= 500 or answer.status_code in LATER, answer.text
    return answer.status_code == 200
