"""The kernel's announcements of exits, recorded and real."""

import os
import struct
import subprocess
import sys
import threading

import pytest

from holter.probes.postmortem.connector import Announced, filter_program, listen_message, open_connector, parse_exit
from holter.probes.postmortem.exit_status import kernel_version

# As Linux 6.18.44 sent it when process 32140 left with 3.
EXIT = bytes.fromhex(
    "4c00000003000000b7a90000000000000100000001000000b7a9000000000000"
    "280000000000008001000000515e94bab70b00008c7d00008c7d000000030000"
    "110000007b7d00007b7d0000"
)
HEAD = EXIT[:36]


def event(what: int, pid: int, process: int, *, status: int) -> bytes:
    return HEAD + struct.pack("=IIQIIIIII", what, 0, 7, pid, process, status, 17, 1, 1)


def test_an_exit_is_understood() -> None:
    assert parse_exit(EXIT) == Announced(pid=32140, status=768, at_ns=12883737206353)


@pytest.mark.parametrize(
    "message",
    [
        event(0x80000000, 8, 7, status=0),
        event(0x1, 7, 7, status=0),
        event(0x40000000, 7, 7, status=0),
        EXIT[:50],
        b"",
    ],
    ids=["of a thread", "a fork", "a core dump", "cut off", "empty"],
)
def test_anything_else_is_no_exit_of_a_process(message: bytes) -> None:
    assert parse_exit(message) is None


def test_a_filter_has_two_instructions_for_each_process() -> None:
    assert len(filter_program(set())) == 9 * 8
    assert len(filter_program({1, 2, 3})) == (9 + 6) * 8


def test_old_kernels_are_asked_for_all_events_and_new_ones_for_exits() -> None:
    assert len(listen_message(with_mask=False)) == 40
    assert listen_message(with_mask=True)[-8:] == struct.pack("=II", 1, 0x80000000)


@pytest.mark.parametrize(
    ("release", "version"),
    [("6.1.0-13-amd64", (6, 1)), ("6.18.44", (6, 18)), ("4.18.0-553.el8", (4, 18)), ("?", (0, 0))],
)
def test_versions_of_kernels(release: str, version: tuple[int, int]) -> None:
    assert kernel_version(release) == version


@pytest.fixture(autouse=True)
def _linux() -> None:
    if sys.platform != "linux":
        pytest.skip("not on this platform: the connector is of Linux")


def test_it_hears_how_a_process_ended_among_many_others() -> None:
    connector = open_connector()
    if connector is None:
        pytest.skip("not on this platform: the connector needs the first namespaces and, before Linux 6.6, root")
    with subprocess.Popen(["sh", "-c", "read line; exit 3"], stdin=subprocess.PIPE) as child:
        connector.follow(child.pid)
        for _ in range(20):
            subprocess.run(["true"], check=True)
        assert connector.status(child.pid) is None
        child.communicate(b"\n")
        assert connector.status(child.pid) == 3 << 8
        assert connector.status(1) is None
        connector.forget(child.pid)
        assert connector.status(child.pid) is None
    connector.close()


def test_the_end_of_a_thread_is_not_taken_for_that_of_its_process() -> None:
    connector = open_connector()
    if connector is None:
        pytest.skip("not on this platform: the connector needs the first namespaces and, before Linux 6.6, root")
    connector.follow(os.getpid())
    thread = threading.Thread(target=lambda: None)
    thread.start()
    thread.join()
    assert connector.status(os.getpid()) is None
    connector.close()
