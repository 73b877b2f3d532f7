"""For programs that want to know what their sidecar has in sight; what they import here is in no journal."""

import os
import time

import holter
from tests.e2e.programs import rows

WITHIN_S = 60.0


def wait_until_seen(*pids: int) -> None:
    """Until the sidecar holds a descriptor of each process, by which it hears of its end, and its name.

    At its first look a child may not be its program yet: the name is that of the tick after it.
    """
    deadline = time.monotonic() + WITHIN_S
    while not {f"Pid:\t{pid}" for pid in pids} <= _held_by_sidecars():
        assert time.monotonic() < deadline, f"no sidecar has seen {pids}"
        time.sleep(0.05)
    wait_for_looks(2)


def wait_for_looks(times: int) -> None:
    """Until the sidecar has looked so many times more."""
    assert holter.run is not None
    directory = holter.run.dir
    deadline = time.monotonic() + WITHIN_S
    looks = len(rows(directory, "sidecar")) + times
    while len(rows(directory, "sidecar")) < looks:
        assert time.monotonic() < deadline, "the sidecar has stopped looking"
        time.sleep(0.1)


def wait_for_child_of(pid: int) -> int:
    """The first child of a process, once it has one."""
    deadline = time.monotonic() + WITHIN_S
    while True:
        with open(f"/proc/{pid}/task/{pid}/children") as file:
            if found := file.read().split():
                return int(found[0])
        assert time.monotonic() < deadline, f"{pid} has no child"
        time.sleep(0.02)


def _held_by_sidecars() -> set[str]:
    return {line for pid in os.listdir("/proc") if pid.isdigit() for line in _descriptors(pid)}


def _descriptors(pid: str) -> list[str]:
    try:
        with open(f"/proc/{pid}/cmdline") as file:
            if "holter.sidecar" not in file.read():
                return []
        return [line for name in os.listdir(f"/proc/{pid}/fdinfo") for line in _lines(f"/proc/{pid}/fdinfo/{name}")]
    except OSError:  # gone meanwhile
        return []


def _lines(path: str) -> list[str]:
    with open(path) as file:
        return file.read().splitlines()
