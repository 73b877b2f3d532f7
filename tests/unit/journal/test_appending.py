"""Appends from threads, signal handlers and interrupted calls: nothing is lost, nothing waits for ever."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType

import pytest

from holter.errors import NotKept
from holter.journal import rows, writer
from holter.journal.frame import encode_body
from holter.journal.reader import scan
from holter.journal.segment import Segment, begin_segment
from holter.model.records import Declared, Finished, Lost
from tests.unit.journal.recording import Recording, count_files, leave_open, read, read_rows

pytestmark = pytest.mark.usefixtures("kind_of_segment")


@pytest.fixture
def on_signal() -> Iterator[Callable[[Callable[[], None]], None]]:
    """Run something whenever SIGUSR1 comes."""
    before = signal.getsignal(signal.SIGUSR1)

    def install(handler: Callable[[], None]) -> None:
        def handle(number: int, frame: FrameType | None, /) -> None:
            handler()

        signal.signal(signal.SIGUSR1, handle)

    yield install
    signal.signal(signal.SIGUSR1, before)


SENDER = """
import os, signal, time
parent = os.getppid()
while os.getppid() == parent:
    os.kill(parent, signal.SIGUSR1)
    time.sleep(0.0001)
"""


@pytest.fixture
def signals() -> Iterator[None]:
    """SIGUSR1 for the main thread, thousands of times a second."""
    sender = subprocess.Popen([sys.executable, "-Sc", SENDER])
    yield
    signal.signal(signal.SIGUSR1, signal.SIG_IGN)
    sender.kill()
    sender.wait()


def test_eight_threads_lose_nothing(tmp_path: Path) -> None:
    recording = Recording(tmp_path)

    def work(thread: int) -> None:
        for step in range(1000):
            recording.log({f"loss{thread % 4}": float(thread), "step": step}, thread * 1000 + step)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = read_rows(*recording.closed())
    assert sorted(row.step for row in found) == list(range(8000))
    assert all(row.values[f"loss{row.step // 1000 % 4}"] == row.step // 1000 for row in found)


def test_a_signal_handler_that_logs_inside_log_loses_nothing(
    tmp_path: Path, on_signal: Callable[[Callable[[], None]], None], request: pytest.FixtureRequest
) -> None:
    recording = Recording(tmp_path)
    handled = 0

    def handle() -> None:
        nonlocal handled
        handled += 1
        mine = handled  # the next signal may come before the next line
        recording.log({"signal": float(mine)}, -mine)

    on_signal(handle)
    request.getfixturevalue("signals")
    deadline, step = time.monotonic() + 60, 0
    while (handled < 1000 or step < 10_000) and time.monotonic() < deadline:
        recording.log({"loss": float(step)}, step)
        step += 1
    signal.signal(signal.SIGUSR1, signal.SIG_IGN)
    assert handled >= 1000
    found = read_rows(*recording.closed())
    assert sorted(row.step for row in found) == list(range(-handled, step))
    assert all(abs(next(iter(row.values.values()))) == abs(row.step) for row in found)


def test_a_handler_may_log_more_than_python_can_recurse(
    tmp_path: Path, on_signal: Callable[[Callable[[], None]], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    recording = Recording(tmp_path)
    inside_next_segment(monkeypatch, lambda: os.kill(os.getpid(), signal.SIGUSR1))
    on_signal(lambda: log_rows(recording, 3000))
    recording.log({"outer": 1}, -1)
    assert [row.step for row in read_rows(*recording.closed())] == [-1, *range(3000)]


def test_a_handler_may_end_the_run_inside_log(
    tmp_path: Path, on_signal: Callable[[Callable[[], None]], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    recording = Recording(tmp_path)

    def end() -> None:
        recording.say(Finished(at_ns=1, exit_code=3))
        recording.journal.close()
        raise SystemExit(3)

    inside_next_segment(monkeypatch, lambda: os.kill(os.getpid(), signal.SIGUSR1))
    on_signal(end)
    with pytest.raises(SystemExit):
        recording.log({"a": 1})
    with pytest.raises(NotKept, match="closed"):
        recording.log({"a": 1})
    [data] = leave_open(recording)
    assert Finished(at_ns=1, exit_code=3) in read(data)
    assert scan(data).end == len(data)


def test_an_interrupt_while_a_segment_is_made_costs_that_row_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recording = Recording(tmp_path)
    recording.log({"a": 1}, 0)
    with monkeypatch.context() as patched:
        inside_next_segment(patched, interrupt)
        with pytest.raises(KeyboardInterrupt):
            recording.log({"text": "x" * 300_000}, 1)
    recording.log({"text": "y" * 300_000}, 2)
    recording.log({"a": 1}, 3)
    assert [row.step for row in read_rows(*recording.closed())] == [0, 2, 3]


def test_a_schema_declared_in_a_handler_gets_a_number_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recording = Recording(tmp_path)
    for key in ("inner", "outer"):
        recording.log({key: 1.0})

    def make_in_between(declared: Declared) -> rows.Schema:
        monkeypatch.setattr(rows, "Schema", rows_schema)
        recording.log({"inner": 2.0})
        return rows_schema(declared)

    rows_schema = rows.Schema
    monkeypatch.setattr(rows, "Schema", make_in_between)
    recording.log({"outer": 2.0})
    [data] = recording.closed()
    declared = {each.number: each.keys for each in read(data) if isinstance(each, Declared)}
    assert sorted(declared.values()) == [("inner",), ("outer",)]
    assert [row.values for row in read_rows(data)] == [{"inner": 1.0}, {"outer": 1.0}, {"inner": 2.0}, {"outer": 2.0}]


def test_a_disk_that_takes_nothing_for_a_while_costs_what_came_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recording = Recording(tmp_path)
    with monkeypatch.context() as patched:
        patched.setattr(writer, "begin_segment", refuse)
        for step in range(5):
            with pytest.raises(NotKept, match="No space left on device"):
                recording.log({"a": 1}, step)
            recording.clock.ns += writer.RETRY_NS
    recording.log({"a": 1}, 5)
    [data] = recording.closed()
    assert [row.step for row in read_rows(data)] == [5]
    [lost] = [each for each in read(data) if isinstance(each, Lost)]
    assert (lost.records, lost.because) == (5, f"No space left on device ({tmp_path})")
    assert recording.journal.lost == 0


def test_a_refusing_disk_is_asked_once_a_second(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def note(path: str, size: int, *, start: bytes) -> Segment:
        asked.append(size)
        return refuse(path, size, start=start)

    monkeypatch.setattr(writer, "begin_segment", note)
    recording = Recording(tmp_path)
    for _ in range(100):
        with pytest.raises(NotKept):
            recording.log({"a": 1})
    # Once as large as it should be, once as small as it may be.
    assert asked == [256 << 10, 16 << 10]


def test_what_lasts_is_kept_with_the_next_segment_though_the_disk_refused_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recording = Recording(tmp_path)
    with monkeypatch.context() as patched:
        patched.setattr(writer, "begin_segment", refuse)
        with pytest.raises(NotKept):
            recording.say(Finished(at_ns=1, exit_code=1))
    recording.clock.ns += writer.RETRY_NS
    recording.log({"a": 1})
    assert Finished(at_ns=1, exit_code=1) in read(*recording.closed())


def test_a_segment_that_could_not_be_begun_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = str(tmp_path / "a.seg")
    with monkeypatch.context() as patched:
        patched.setattr("holter.journal.segment.MappedSegment.put", refuse)
        patched.setattr("holter.journal.segment.WrittenSegment.put", refuse)
        with pytest.raises(OSError, match="No space left"):
            begin_segment(path, 4096, start=b"start")
    assert count_files(tmp_path) == 0
    begin_segment(path, 4096, start=b"start").close(5)


def test_the_disk_limit_is_said_with_its_number_and_its_setting(tmp_path: Path) -> None:
    recording = Recording(tmp_path, limit_bytes=300_000)
    with pytest.raises(NotKept, match="disk limit of 300,000 bytes; HOLTER_DISK_LIMIT raises it"):
        log_rows(recording, 100_000)
    assert sum(os.path.getsize(path) for path in recording.paths()) <= 300_000
    recording.journal.close()


def test_an_open_that_fails_is_not_a_lost_record(tmp_path: Path) -> None:
    recording = Recording(tmp_path, limit_bytes=0)
    with pytest.raises(NotKept, match="disk limit"):
        recording.journal.open()
    assert recording.journal.lost == 0
    with pytest.raises(NotKept, match="disk limit"):
        recording.log({"a": 1})
    assert recording.journal.lost == 1


@pytest.mark.parametrize("gone", ["file", "directory"])
def test_a_deleted_journal_is_laid_down_again(gone: str, tmp_path: Path) -> None:
    directory = tmp_path / "run"
    recording = Recording(directory)
    recording.log({"a": 1}, 0)
    remove(directory, gone)
    recording.log({"a": 1}, 1)
    assert recording.journal.look_after()
    recording.log({"a": 1}, 2)
    assert [row.step for row in read_rows(*recording.closed())] == [0, 1, 2]


def test_a_deleted_journal_waits_until_there_is_a_place_for_it(tmp_path: Path) -> None:
    directory = tmp_path / "run"
    recording = Recording(directory)
    recording.log({"a": 1}, 0)
    remove(directory, "directory")
    directory.write_text("in the way")
    assert not recording.journal.look_after()
    recording.log({"a": 1}, 1)
    directory.unlink()
    assert recording.journal.look_after()
    assert [row.step for row in read_rows(*recording.closed())] == [0, 1]


def test_laying_down_again_tries_again_after_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    directory = tmp_path / "run"
    recording = Recording(directory)
    recording.log({"a": 1}, 0)
    remove(directory, "file")
    with monkeypatch.context() as patched:
        patched.setattr("holter.journal.segment.MappedSegment.put", refuse)
        patched.setattr("holter.journal.segment.WrittenSegment.put", refuse)
        assert not recording.journal.look_after()
    assert recording.journal.look_after()
    assert len(read_rows(*recording.closed())) == 1


def test_a_journal_that_is_there_is_left_alone(tmp_path: Path) -> None:
    recording = Recording(tmp_path)
    assert recording.journal.look_after()
    recording.log({"a": 1})
    [path] = recording.paths()
    before = os.stat(path).st_ino
    assert recording.journal.look_after()
    assert os.stat(path).st_ino == before
    recording.journal.close()


def test_a_row_from_a_finalizer_is_kept(tmp_path: Path) -> None:
    recording = Recording(tmp_path)

    class Loud:
        def __del__(self) -> None:
            recording.log({"gone": 1})

    recording.rows.append({"a": 1}, 0, 1)
    with recording.journal.lock:
        victim = [Loud()]
        victim.clear()
        recording.journal.append_held(encode_body(200, b""))
    assert [list(row.values) for row in read_rows(*recording.closed())] == [["a"], ["gone"]]


def log_rows(recording: Recording, count: int) -> None:
    for step in range(count):
        recording.log({"a": float(step)}, step)


def interrupt() -> None:
    raise KeyboardInterrupt


def refuse(*args: object, **kwargs: object) -> Segment:
    raise OSError(28, "No space left on device")


def inside_next_segment(monkeypatch: pytest.MonkeyPatch, happen: Callable[[], None]) -> None:
    """Let something happen while the next segment is made, when it is already on the disk."""

    def begin(path: str, size: int, *, start: bytes) -> Segment:
        made = begin_segment(path, size, start=start)
        monkeypatch.setattr(writer, "begin_segment", begin_segment)
        happen()
        return made

    monkeypatch.setattr(writer, "begin_segment", begin)


def remove(directory: Path, gone: str) -> None:
    for path in directory.iterdir():
        path.unlink()
    if gone == "directory":
        directory.rmdir()
