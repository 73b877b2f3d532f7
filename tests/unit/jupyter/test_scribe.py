"""The thread that writes for a server."""

import logging
import threading

import pytest

from holter.jupyter.scribe import MOST_WAITING, Scribe

LOG = logging.getLogger("test")


def test_work_is_done_in_its_order() -> None:
    scribe, done = Scribe(), list[int]()
    for number in range(100):
        scribe.do(lambda number=number: done.append(number), LOG)  # type: ignore[misc]  # mypy can't infer it
    assert scribe.drain(5.0)
    assert done == list(range(100))


def test_a_disk_that_hangs_holds_nobody_up() -> None:
    scribe, disk = Scribe(), threading.Event()
    for _ in range(MOST_WAITING + 10):
        scribe.do(disk.wait, LOG)
    assert scribe.drain(0.01) is False
    disk.set()


def test_a_failure_is_one_line_and_the_next_work_is_done(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HOLTER_STRICT")
    scribe, done = Scribe(), list[str]()

    def fail() -> None:
        raise OSError(28, "No space left on device")

    scribe.do(fail, LOG)
    scribe.do(lambda: done.append("next"), LOG)
    assert scribe.drain(5.0)
    assert done == ["next"]
    assert [record.getMessage() for record in caplog.records] == [
        "holter: a notebook's kernel is not fully recorded: OSError: [Errno 28] No space left on device"
    ]
