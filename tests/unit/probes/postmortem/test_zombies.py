"""Exit statuses caught between a process's end and its parent's look at it."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from holter.model.witnesses import CONNECTOR, PIDFD_INFO
from holter.probes.postmortem.exit_status import ExitStatus
from holter.probes.postmortem.exit_witnesses import ExitWitnesses
from holter.probes.postmortem.zombies import Zombies
from tests.unit.probes.recordings import stat_line, write_files

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="not on this platform: pidfds are of Linux")

EXITING = 0x4
PIDFD = 1000


@pytest.fixture
def zombies(tmp_path: Path) -> Iterator[Zombies]:
    zombies = Zombies(str(tmp_path))
    yield zombies
    zombies.close()


def put(root: Path, line: str) -> None:
    """Change the file in place, as the kernel does."""
    path = root / "10" / "stat"
    if not path.exists():
        write_files(root, {"10/stat": line})
    with path.open("r+") as file:
        file.truncate()
        file.write(line)


@pytest.mark.parametrize(
    ("line", "status"),
    [
        (stat_line(started=5), None),
        (stat_line(state="R", started=5, flags=EXITING, exit_code=9), 9),
        (stat_line(state="R", started=5, flags=EXITING), None),
        (stat_line(state="Z", started=5, flags=EXITING, exit_code=3 << 8), 3 << 8),
        (stat_line(state="Z", started=5, flags=EXITING), 0 if os.geteuid() == 0 else None),
        (stat_line(state="T", started=5, exit_code=19), None),
    ],
    ids=["alive", "on its way out", "on its way out without a code yet", "dead", "dead with 0", "stopped"],
)
def test_a_status_counts_once_the_process_is_leaving(
    tmp_path: Path, zombies: Zombies, line: str, status: int | None
) -> None:
    put(tmp_path, stat_line(started=5))
    zombies.follow(10, PIDFD)
    put(tmp_path, line)
    zombies.catch([PIDFD])
    expected = None if status is None else ExitStatus(status=status, source="zombie-stat")
    assert zombies.status(10) == expected


def test_what_was_caught_is_kept_until_it_is_forgotten(tmp_path: Path, zombies: Zombies) -> None:
    put(tmp_path, stat_line(started=5))
    zombies.follow(10, PIDFD)
    put(tmp_path, stat_line(state="Z", flags=EXITING, started=5, exit_code=9))
    zombies.catch([PIDFD])
    put(tmp_path, "")
    zombies.catch([PIDFD])
    assert zombies.status(10) == ExitStatus(status=9, source="zombie-stat")
    zombies.forget(10)
    zombies.forget(10)
    assert zombies.status(10) is None


def test_a_process_that_is_gone_can_t_be_followed(zombies: Zombies) -> None:
    zombies.follow(11, PIDFD)
    zombies.catch([PIDFD])
    assert zombies.status(11) is None


def test_a_real_process_is_caught_before_its_parent_waits_and_known_after() -> None:
    witnesses = ExitWitnesses(frozenset({PIDFD_INFO, CONNECTOR}))
    with subprocess.Popen(["sleep", "60"]) as child:
        pidfd = os.pidfd_open(child.pid)
        witnesses.follow(child.pid, pidfd)
        child.kill()
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        witnesses.catch([pidfd])
        child.wait()
        assert witnesses.read(pidfd, child.pid, started=0) == ExitStatus(status=signal.SIGKILL, source="zombie-stat")
        witnesses.forget(child.pid)
        assert witnesses.read(pidfd, child.pid, started=0) is None
        os.close(pidfd)
    witnesses.close()


def test_a_process_that_two_runs_ask_about_is_followed_until_both_are_done() -> None:
    witnesses = ExitWitnesses(frozenset({PIDFD_INFO, CONNECTOR}))
    with subprocess.Popen(["sleep", "60"]) as child:
        pidfd = os.pidfd_open(child.pid)
        witnesses.follow(child.pid, pidfd)
        witnesses.follow(child.pid, pidfd)
        witnesses.forget(child.pid)
        child.kill()
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        witnesses.catch([pidfd])
        child.wait()
        assert witnesses.read(pidfd, child.pid, started=0) is not None
        os.close(pidfd)
    witnesses.close()
