"""Records one small run in the format of this holter: `python -m tests.zoo.formats.record`.

Run it once for each new version of the format, and commit the folder: it must stay readable for ever. The story is
always the same, so that `test_formats.py` can tell it by heart; a new kind of record is added to it with its version.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

from holter.journal import allowance
from holter.journal.frame import VERSION, encode_body, encode_record
from holter.journal.rows import RowEncoder
from holter.journal.writer import JournalWriter
from holter.model import records as r
from holter.model.clock import Clock
from tests.zoo.formats.later import STORY

HERE = Path(__file__).parent


class StoryClock(Clock):
    """A second for each look."""

    def __init__(self) -> None:
        self.offset_ns = 1_700_000_000_000_000_000

    def now_ns(self) -> int:
        self.offset_ns += 1_000_000_000
        return self.offset_ns


class Story:
    """One journal, written by the real writer with a clock and an id of its own."""

    def __init__(self, directory: Path, number: int, kind: str) -> None:
        self._kind = kind
        self._clock = StoryClock()
        self.journal = JournalWriter(str(directory), self._prologue, clock=self._clock)
        self.journal.id = bytes([number] * 16)
        self._rows = RowEncoder(self.journal.append_held)

    def log(self, row: dict[str, object], step: int) -> None:
        self._rows.append(row, step, self._clock.now_ns())

    def _prologue(self) -> Iterator[bytes]:
        yield encode_record(
            r.Opened(
                at_ns=1,
                run="zoo",
                writer=self._kind,
                host="node-1",
                boot_id="5e0a",
                pid=4711,
                process_started=99,
                holter="0.1.0",
                attempt=2,
                rank=0,
                pid_namespace="4026531836",
            )
        )
        if self._rows.rows:
            at_ns, step = self._rows.last_row or (None, None)
            last = self._rows.last_values()
            yield encode_record(r.Totals(at_ns=1, rows=self._rows.rows, last=last, last_step=step, last_at_ns=at_ns))
        yield from self._rows.declarations()


def record_client(directory: Path) -> None:
    """Packed, loose and promoted rows over two segments, and what a program says about itself."""
    story = Story(directory, 0xC1, "client")
    say = story.journal.record
    say(r.Described(at_ns=10, project="zoo", name="quiet-otter", started_ns=5, tags=("a", "b"), heartbeat_s=2.5))
    say(r.Configured(at_ns=11, config={"lr": 0.1, "layers": [64, 32], "data": {"name": "mnist"}}))
    for step in range(30):
        story.log({"loss": 1 / (step + 1), "seen": step * 64}, step)
    story.log({"loss": float("nan"), "seen": -(1 << 63)}, 30)
    story.log({"loss": float("-inf"), "seen": 0.5}, 31)
    story.log({"phase": "validation", "is_best": True, "none": None, "list": [1, 2.5, "x"]}, 31)
    say(r.Flushed(at_ns=12, step=31))
    say(r.Summarised(at_ns=13, summary={"best": 0.25}))
    say(r.Alerted(at_ns=14, title="loss is high", text="look at it", level="WARN"))
    say(r.Noted(at_ns=15, text="one value could not be stored"))
    # A record of a kind that no holter knows, as a newer one may write it.
    story.journal.append(encode_body(250, b"\x80"))
    say(r.Preempting(at_ns=16))
    say(r.Signalled(at_ns=17, signal=15))
    say(r.Raised(at_ns=18, type="ValueError", message="bad", traceback="Traceback: …", thread="worker", where="thread"))
    story.log({"loss": 0.125, "seen": 2048}, 3)
    say(r.Lost(at_ns=19, records=7, since_ns=18, because="No space left on device"))
    say(r.Finished(at_ns=20, exit_code=3, how="context"))
    story.journal.close()


def record_sidecar(directory: Path) -> None:
    """Samples, a heartbeat and how the process ended."""
    story = Story(directory, 0x5C, "sidecar")
    story.journal.record(r.Facts(at_ns=30, facts={"cpus": 8, "git": {"commit": "abc"}}))
    for tick in range(3):
        story.log({"system/cpu": 0.5 * tick, "system/rss_bytes": 1 << 30}, tick)
    story.journal.record(r.Beat(at_ns=31, monotonic_ns=77, pids=(4711,)))
    story.journal.record(r.Exited(at_ns=32, journal="c1" * 16, pid=4711, source="pidfd", status=0x8B))
    story.journal.record(r.ChildExited(at_ns=33, pid=4712, source="pidfd-info", status=9, command="worker"))
    story.journal.record(r.Saved(at_ns=34, pattern="*.pt", base="/data", policy="end", files=2))
    story.journal.close()


def record_command(directory: Path) -> None:
    """A person's word."""
    story = Story(directory, 0xCD, "command")
    story.journal.record(r.Marked(at_ns=40, state="failed", reason="wrong data", by="ann"))
    story.journal.record(r.Launched(at_ns=41, pid=4713, process_started=98, command=("python", "train.py")))
    story.journal.record(r.Console(at_ns=42, stdout="terminal", stderr="pipe", transcript="output.log"))
    story.journal.record(r.Looked(at_ns=43, source="counters", pid=4711, found={"host_kills": 1}))
    story.journal.record(r.Edited(at_ns=44, by="ann", name="better", tags=("kept",)))
    story.journal.record(r.CellStarted(at_ns=45, ordinal=2, number=7, source="train()", rss_bytes=1 << 20))
    held = r.HeldVariable(name="cache", type="dict", what="3 items", host_bytes=4096, gpu_bytes=1)
    story.journal.record(r.CellEnded(at_ns=46, ordinal=2, number=7, peak_bytes=1 << 21, error="E", variables=(held,)))
    story.journal.record(r.KernelAsked(at_ns=47, kind="restart", is_busy=True))
    story.journal.record(r.Masked(at_ns=48, counts={"api_key in config": 1}))
    story.journal.record(r.CauseMarked(at_ns=49, cause="disk-full", reason="df", by="ann", verdict="nonzero-exit"))
    story.journal.record(r.Judged(at_ns=50, weighed="2 1 3", found={"rules": "0.1.0-00000000-00000000"}))
    story.journal.close()


def record_later(directory: Path) -> None:
    """Kinds that are newer than the format."""
    story = Story(directory, LATER, "client")
    for each in STORY:
        story.journal.record(each)
    story.journal.close()


def main() -> int:
    directory = HERE / f"v{VERSION}"
    there = {path.name[:2] for path in directory.glob("*.seg")}
    allowance.FIRST_SIZE = 2048  # so that a short story fills more than one segment
    missing = [(number, record) for number, record in STORIES.items() if f"{number:02x}" not in there]
    if not missing:
        print(f"{directory} is there already: a recorded format is never recorded again", file=sys.stderr)
        return 1
    for _, record in missing:
        record(directory)
    return 0


LATER = 0x1A
STORIES = {0xC1: record_client, 0x5C: record_sidecar, 0xCD: record_command, LATER: record_later}


if __name__ == "__main__":
    sys.exit(main())
