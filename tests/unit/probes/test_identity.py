"""Which process was it, and does it still run?"""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest

from holter.probes.identity import ProcessIdentity, boot_id, identify, is_alive
from tests.unit.probes.recordings import stat_line, write_files

BOOT = "9d4c1a52-7a4e-4f7e-8d7b-5b7c2f1f0a11"


@pytest.fixture
def child() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        yield child
        child.kill()


def found(pid: int, proc: str = "/proc") -> ProcessIdentity:
    identity = identify(pid, proc)
    assert identity is not None
    return identity


def test_a_child_is_alive_until_it_is_killed_even_as_a_zombie(child: subprocess.Popen[bytes]) -> None:
    identity = found(child.pid)
    assert is_alive(identity) is True
    child.kill()
    # Waits until it is a zombie, and leaves it one.
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert is_alive(identity) is False
    assert identify(child.pid) is None
    child.wait()
    assert is_alive(identity) is False


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        pytest.param(lambda i: i, True, id="the same"),
        pytest.param(lambda i: msgspec.structs.replace(i, started=i.started - 1), False, id="the pid was used again"),
        pytest.param(lambda i: msgspec.structs.replace(i, host="another"), None, id="another host"),
        pytest.param(lambda i: msgspec.structs.replace(i, boot_id=BOOT[::-1]), False, id="an earlier boot"),
        pytest.param(lambda i: msgspec.structs.replace(i, pid_namespace="pid:[5]"), None, id="another container"),
        pytest.param(lambda i: msgspec.structs.replace(i, started=0), True, id="started at an unknown time"),
        pytest.param(lambda i: msgspec.structs.replace(i, boot_id="", pid_namespace=""), True, id="older recording"),
    ],
)
def test_a_pid_means_something_only_where_the_rest_agrees(
    tmp_path: Path, change: Callable[[ProcessIdentity], ProcessIdentity], expected: bool | None
) -> None:
    (tmp_path / "self/ns").mkdir(parents=True)
    (tmp_path / "self/ns/pid").symlink_to("pid:[4026531836]")
    files = {"self/stat": "", "10/stat": stat_line(started=48211), "sys/kernel/random/boot_id": f"{BOOT}\n"}
    proc = write_files(tmp_path, files)
    assert is_alive(change(found(10, proc)), proc) is expected


def test_a_process_that_proc_hides_is_not_declared_dead(tmp_path: Path) -> None:
    proc = write_files(tmp_path, {"self/stat": "", "1/stat": stat_line()})
    identity = found(1, proc)
    Path(proc, "1/stat").unlink()
    # Only whoever may not signal process 1 learns nothing; whoever may sees that it is gone from /proc.
    assert is_alive(identity, proc) is (False if os.geteuid() == 0 else None)


def test_without_proc_psutil_knows_when_it_started(tmp_path: Path, child: subprocess.Popen[bytes]) -> None:
    identity = found(child.pid, str(tmp_path))
    assert identity.started > 0
    assert identity.boot_id == ""
    assert is_alive(identity, str(tmp_path)) is True
    child.kill()
    child.wait()
    assert is_alive(identity, str(tmp_path)) is False


def test_a_process_whose_first_thread_has_ended_is_alive_as_long_as_another_runs(tmp_path: Path) -> None:
    proc = write_files(tmp_path, {"self/stat": "", "10/stat": stat_line(state="Z", threads=2)})
    assert is_alive(found(10, proc), proc) is True


def test_one_boot_has_one_id() -> None:
    assert boot_id() == boot_id()
