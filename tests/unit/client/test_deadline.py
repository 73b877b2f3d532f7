"""Work that may hang does not hang its caller."""

import threading

import pytest

from holter.client.deadline import in_time


def test_work_that_is_done_in_time_is_done() -> None:
    done = []
    assert in_time(lambda: done.append(1), 5)
    assert done == [1]


def test_work_that_hangs_is_left_to_itself() -> None:
    release = threading.Event()
    assert not in_time(lambda: release.wait(30), 0.05)
    release.set()


def test_a_failure_of_the_work_is_the_callers() -> None:
    with pytest.raises(ZeroDivisionError):
        in_time(lambda: 1 / 0, 5)


def test_without_threads_the_work_is_done_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    done = []
    assert in_time(lambda: done.append(1), 5)
    assert done == [1]
