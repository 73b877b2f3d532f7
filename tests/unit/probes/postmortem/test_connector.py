"""The kernel's announcements of exits, recorded and real."""

import os
import struct
import subprocess
import sys
import threading
import time

import pytest

from holter.probes.postmortem.connector import (
    MOST_A_SECOND,
    MOST_FOLLOWED,
    PROC_EVENT_FORK,
    Announced,
    family_filter,
    filter_program,
    listen_message,
    open_connector,
    parse_exit,
    parse_fork,
)
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


def birth(child: int, process: int, *, parent: int) -> bytes:
    return HEAD + struct.pack("=IIQIIII", PROC_EVENT_FORK, 0, 7, parent, parent, child, process) + bytes(8)


def test_an_exit_is_understood() -> None:
    assert parse_exit(EXIT) == Announced(pid=32140, status=768, at_ns=12883737206353, parent=32123)


def test_an_old_kernel_does_not_name_the_parent() -> None:
    assert parse_exit(EXIT[:-12]) == Announced(pid=32140, status=768, at_ns=12883737206353, parent=0)


@pytest.mark.parametrize(
    "message",
    [
        event(0x1, 7, 7, status=0),
        event(0x40000000, 7, 7, status=0),
        EXIT[:50],
        b"",
    ],
    ids=["a fork", "a core dump", "cut off", "empty"],
)
def test_anything_else_is_no_exit(message: bytes) -> None:
    assert parse_exit(message) is None


def test_a_thread_is_named_with_its_process() -> None:
    assert parse_exit(event(0x80000000, 8, 7, status=11)) == Announced(7, 11, 7, 1, thread=8)


def test_a_birth_is_understood_and_that_of_a_thread_is_none() -> None:
    assert parse_fork(birth(9, 9, parent=7)) == (9, 7)
    assert parse_fork(birth(9, 7, parent=7)) is None
    assert parse_fork(EXIT) is None
    assert parse_fork(birth(9, 9, parent=7)[:60]) is None


def passes(program: bytes, message: bytes) -> bool:
    """What the kernel's machine makes of the filter, as far as we use it."""
    instructions = list(struct.iter_unpack("=HBBI", program))
    value = kept = number = 0
    while True:
        code, if_true, if_false, constant = instructions[number]
        number += 1
        if code == 0x06:
            return bool(constant)
        if code == 0x20:
            value = int.from_bytes(message[constant : constant + 4], "big")
        elif code == 0x80:
            value = len(message)
        elif code == 0x07:
            kept = value
        else:
            is_true = {0x15: value == constant, 0x35: value >= constant, 0x1D: value == kept}[code]
            number += if_true if is_true else if_false


@pytest.mark.parametrize(
    ("message", "followed", "is_passed"),
    [
        (EXIT, {32140}, True),
        (EXIT, {5, 32123, 7}, True),
        (EXIT, {5, 7}, False),
        (EXIT, set(), False),
        (event(0x80000000, 7, 7, status=0), {7}, True),
        (event(0x80000000, 7, 7, status=0), {1}, False),
        (event(0x80000000, 7, 7, status=11), {1}, True),
        (EXIT[:-12], {32140}, True),
        (EXIT[:-12], {32123}, False),
        (event(0x80000000, 8, 7, status=0), {1, 7, 8}, False),
        (event(0x80000000, 8, 7, status=11), {7}, True),
        (event(0x80000000, 8, 7, status=11), {1}, False),
        (event(0x1, 7, 7, status=0), {1, 7}, False),
    ],
    ids=[
        "its own exit",
        "a child's exit",
        "somebody's exit",
        "nobody is followed",
        "its own with 0",
        "a child's with 0",
        "a child's by a signal",
        "its own, on an old kernel",
        "a child's, on an old kernel",
        "a thread that came to its end",
        "a thread of a process that crashed",
        "a thread of a child that crashed",
        "a fork",
    ],
)
def test_the_kernel_lets_pass_what_is_about_the_followed_and_their_children(
    message: bytes, followed: set[int], is_passed: bool
) -> None:
    assert passes(filter_program(followed), message) is is_passed


@pytest.mark.parametrize(
    ("message", "is_passed"),
    [
        (birth(9, 9, parent=7), True),
        (birth(9, 7, parent=7), False),
        (EXIT, True),
        (event(0x80000000, 7, 7, status=0), False),
        (event(0x80000000, 8, 7, status=11), False),
        (event(0x40000000, 7, 7, status=11), False),
    ],
    ids=["a birth", "a thread's", "a bad end", "a good end", "a thread's end", "a core dump"],
)
def test_of_all_processes_births_and_bad_ends_are_heard(message: bytes, is_passed: bool) -> None:
    assert passes(family_filter(), message) is is_passed


def test_the_longest_filter_is_one_that_the_kernel_takes() -> None:
    assert len(filter_program(range(1, MOST_FOLLOWED + 1))) // 8 <= 4096


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


def test_it_hears_of_children_of_the_followed_whom_nobody_met() -> None:
    connector = open_connector()
    if connector is None:
        pytest.skip("not on this platform: the connector needs the first namespaces and, before Linux 6.6, root")
    connector.follow(os.getpid())
    number, _ = connector.children_since(0)
    children = [subprocess.Popen(["sh", "-c", f"exit {code}"]) for code in (3, 4)]
    for child in children:
        child.wait()
    subprocess.run(["true"], check=True)
    number, heard = connector.children_since(number)
    assert {(each.pid, each.status, each.parent) for each in heard} == {
        (child.pid, code << 8, os.getpid()) for child, code in zip(children, (3, 4), strict=True)
    }
    assert connector.children_since(number) == (number, [])
    connector.close()


def test_it_hears_of_a_grandchild_whose_parent_came_and_went() -> None:
    connector = open_connector()
    if connector is None:
        pytest.skip("not on this platform: the connector needs the first namespaces and, before Linux 6.6, root")
    number, _ = connector.children_since(0)
    nested = "read line; sh -c 'sh -c \"exit 7\"; true'; true"
    with subprocess.Popen(["sh", "-c", nested], stdin=subprocess.PIPE) as program:
        connector.follow(program.pid)
        program.communicate(b"\n")
    number, (heard,) = connector.children_since(number)
    assert heard.status == 7 << 8
    assert len(heard.ancestors) == 2
    assert heard.ancestors == (heard.parent, program.pid)
    connector.close()


def test_it_knows_the_threads_of_a_process_that_crashed() -> None:
    connector = open_connector()
    if connector is None:
        pytest.skip("not on this platform: the connector needs the first namespaces and, before Linux 6.6, root")
    source = (
        "import os, signal, sys, threading\n"
        "def work():\n    print(threading.get_native_id(), flush=True)\n    sys.stdin.readline()\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\nthreading.Thread(target=work).start()"
    )
    with subprocess.Popen([sys.executable, "-c", source], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        thread = int(child.stdout.readline())
        connector.follow(child.pid)
        child.communicate(b"\n")
    assert connector.threads_of(child.pid) == {thread}
    assert connector.threads_of(1) == frozenset()
    connector.close()


def test_a_flood_of_exits_wakes_nobody() -> None:
    connector = open_connector()
    if connector is None:
        pytest.skip("not on this platform: the connector needs the first namespaces and, before Linux 6.6, root")
    assert connector.descriptor >= 0
    flood = [Announced(pid, 0, time.monotonic_ns(), 1) for pid in range(2, MOST_A_SECOND + 200)]
    for each in flood:
        connector.take_in(each)
    assert connector.descriptor == -1
    connector.close()
