"""The exit status of somebody else's child."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from holter.probes.identity import identify
from holter.probes.postmortem.exit_status import ExitStatus, read_zombie
from holter.probes.postmortem.exit_witnesses import ExitWitnesses
from tests.unit.probes.recordings import stat_line, write_files

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="not on this platform: pidfds are of Linux")


def is_kernel_before(major: int, minor: int) -> bool:
    release = os.uname().release.split(".")
    return (int(release[0]), int(release[1])) < (major, minor)


def read(pidfd: int, pid: int, *, started: int) -> ExitStatus | None:
    with closing(ExitWitnesses()) as witnesses:
        return witnesses.read(pidfd, pid, started=started)


class Watched:
    """A real child, with what a watcher knows of it."""

    def __init__(self, child: subprocess.Popen[bytes]) -> None:
        identity = identify(child.pid)
        assert identity is not None
        self.child = child
        self.started = identity.started
        self.pidfd = os.pidfd_open(child.pid)

    def read(self) -> ExitStatus | None:
        return read(self.pidfd, self.child.pid, started=self.started)

    def become_zombie(self) -> None:
        os.waitid(os.P_PID, self.child.pid, os.WEXITED | os.WNOWAIT)


@pytest.fixture
def watched() -> Iterator[Watched]:
    code = "import os; os._exit(int(input()))"
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE) as child:
        watched = Watched(child)
        yield watched
        os.close(watched.pidfd)
        child.kill()


def test_of_a_living_process_nobody_can_tell(watched: Watched) -> None:
    assert watched.read() is None


@pytest.mark.skipif(is_kernel_before(6, 15), reason="not on this platform: Linux keeps exit codes since 6.15")
def test_a_reaped_process_is_known_by_its_pidfd(watched: Watched) -> None:
    watched.child.kill()
    watched.child.wait()
    assert watched.read() == ExitStatus(status=signal.SIGKILL, source="pidfd-info")


@pytest.mark.skipif(is_kernel_before(6, 15), reason="not on this platform: Linux keeps exit codes since 6.15")
def test_an_exit_code_of_zero_is_told_from_no_answer(watched: Watched) -> None:
    watched.child.communicate(b"0\n")
    assert watched.read() == ExitStatus(status=0, source="pidfd-info")


def test_a_killed_zombie_is_known_by_its_stat(watched: Watched) -> None:
    watched.child.kill()
    watched.become_zombie()
    assert watched.read() == ExitStatus(status=signal.SIGKILL, source="zombie-stat")


def test_a_zombie_that_left_by_itself_has_its_own_code(watched: Watched) -> None:
    assert watched.child.stdin is not None
    watched.child.stdin.write(b"3\n")
    watched.child.stdin.flush()
    watched.become_zombie()
    status = watched.read()
    assert status is not None
    assert os.waitstatus_to_exitcode(status.status) == 3


def test_a_zombie_with_the_pid_of_ours_is_not_ours(watched: Watched) -> None:
    watched.child.kill()
    watched.become_zombie()
    assert read(watched.pidfd, watched.child.pid, started=watched.started + 1) is None


def test_without_a_pidfd_a_reaped_process_is_lost(watched: Watched) -> None:
    watched.child.kill()
    watched.child.wait()
    assert read(-1, watched.child.pid, started=watched.started) is None


def test_a_process_whose_other_threads_run_on_has_not_ended(tmp_path: Path) -> None:
    line = stat_line(state="Z", threads=2, started=5, exit_code=9)
    assert read_zombie(10, 5, proc=write_files(tmp_path, {"10/stat": line})) is None


def test_a_zero_that_the_kernel_shows_to_strangers_is_not_an_exit_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(os, "getegid", lambda: 1000)
    line = stat_line(state="Z", started=5, exit_code=0)
    foreign = {"10/stat": line, "10/status": "Name:\tsudo\nUid:\t1000\t0\t0\t0\nGid:\t1000\t1000\t1000\t1000\n"}
    own = {"11/stat": line, "11/status": "Name:\tpython3\nUid:\t1000\t1000\t1000\t1000\nGid:\t1000\t1000\t1000\t1000\n"}
    proc = write_files(tmp_path, foreign | own)
    assert read_zombie(10, 5, proc=proc) is None
    assert read_zombie(11, 5, proc=proc) == ExitStatus(status=0, source="zombie-stat")
