"""Memory that a real forked worker shares with its parent, until it copies it."""

import os
import signal
import subprocess
from collections.abc import Iterator

import pytest

from holter.probes.live.process import Reading, read_process
from holter.probes.shared_pages import EVERY_S, SharedPages

MIB = 1 << 20


@pytest.fixture
def worker() -> Iterator[tuple[int, int, int]]:
    """A fork that writes to what it shares once it is told to, and says when it is done."""
    shared = bytearray(b"x") * (64 * MIB)
    told, done = os.pipe(), os.pipe()
    pid = os.fork()
    if not pid:
        os.read(told[0], 1)
        shared[::4096] = b"y" * len(range(0, len(shared), 4096))
        os.write(done[1], b"1")
        signal.pause()
    yield pid, told[1], done[0]
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    for each in (*told, *done):
        os.close(each)


def both(worker: int) -> dict[int, Reading]:
    found = {pid: reading for pid in (os.getpid(), worker) if (reading := read_process(pid))}
    assert len(found) == 2
    return found


def test_what_a_worker_shares_is_counted_once_and_what_it_copies_is_its_own(worker: tuple[int, int, int]) -> None:
    pid, tell, done = worker
    shared, before = SharedPages(), both(pid)
    first = shared.own(before, 0.0)
    os.write(tell, b"1")
    os.read(done, 1)
    after = both(pid)
    second = shared.own(after, EVERY_S)
    assert before[pid].anon_bytes > 60 * MIB
    assert first.keys() == second.keys() == {pid}
    assert first[pid] < 32 * MIB
    assert second[pid] - first[pid] > 60 * MIB
    assert after[pid].anon_bytes - before[pid].anon_bytes < 8 * MIB


def test_it_is_read_once_a_minute(worker: tuple[int, int, int]) -> None:
    pid, tell, done = worker
    shared = SharedPages()
    first = shared.own(both(pid), 0.0)[pid]
    os.write(tell, b"1")
    os.read(done, 1)
    assert shared.own(both(pid), EVERY_S - 1)[pid] < first + 8 * MIB
    assert shared.own(both(pid), EVERY_S)[pid] > first + 60 * MIB


def test_where_it_takes_long_it_is_given_up(worker: tuple[int, int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    pid, tell, done = worker
    monkeypatch.setattr("holter.probes.shared_pages.SLOW_S", -1.0)
    shared = SharedPages()
    first = shared.own(both(pid), 0.0)[pid]
    os.write(tell, b"1")
    os.read(done, 1)
    assert shared.own(both(pid), 10 * EVERY_S)[pid] < first + 8 * MIB


def test_another_program_shares_nothing() -> None:
    program = subprocess.Popen(["sleep", "600"])
    try:
        assert SharedPages().own(both(program.pid), 0.0) == {}
    finally:
        program.kill()
        program.wait()
