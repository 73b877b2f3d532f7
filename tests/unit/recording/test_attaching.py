"""Which process may be watched, and what its run is called."""

import os
from pathlib import Path

import pytest

from holter.errors import UsageError
from holter.probes.identity import identify
from holter.recording.attaching import check_process, name_of
from tests.unit.probes.recordings import stat_line, write_files


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("python train.py --lr 3", "train.py"),
        ("/opt/env/bin/python3.12 -u src/train.py", "train.py"),
        ("python -m pkg.train", "pkg.train"),
        ("python -c print(1)", "python"),
        ("bash jobs/train.sh --fast", "train.sh"),
        ("bash -c sleep", "bash"),
        ("/usr/bin/sleep 300", "sleep"),
    ],
)
def test_a_run_is_called_after_its_script_or_program(command: str, name: str) -> None:
    assert name_of(command.split()) == name


def proc(tmp_path: Path, pid: int, *, status: str, command: str, state: str = "S") -> str:
    files = {"stat": stat_line(state=state, started=77), "status": status, "cmdline": command.replace(" ", "\0")}
    write_files(tmp_path, {"self/stat": stat_line(), "sys/kernel/random/boot_id": "b\n"})
    return write_files(tmp_path, {f"{pid}/{name}": text for name, text in files.items()})


MINE = f"Tgid:\t10\nUid:\t{os.getuid()}\t{os.getuid()}\n"


def test_a_process_of_mine_may_be_watched(tmp_path: Path) -> None:
    process = check_process(10, proc(tmp_path, 10, status=MINE, command="python train.py"))
    assert (process.pid, process.started) == (10, 77)
    assert process == identify(10, str(tmp_path))


@pytest.mark.parametrize(
    ("process", "message"),
    [
        ({"status": MINE, "command": "python x", "state": "Z"}, "process 10 has ended, and only waits for its parent"),
        ({"status": MINE.replace("Tgid:\t10", "Tgid:\t9"), "command": "x"}, "10 is a thread of process 9"),
        ({"status": "Tgid:\t10\nUid:\t54321\n", "command": "x"}, "process 10 belongs to 54321"),
        ({"status": MINE, "command": "python -P -m holter.sidecar {}"}, "process 10 is one of holter's own"),
        ({"status": MINE, "command": ""}, "process 10 belongs to Linux itself"),
    ],
    ids=["zombie", "thread", "another user's", "a sidecar", "the kernel's"],
)
def test_any_other_is_refused_with_the_reason(tmp_path: Path, process: dict[str, str], message: str) -> None:
    with pytest.raises(UsageError) as raised:
        check_process(10, proc(tmp_path, 10, **process))
    assert message in str(raised.value)


def test_a_process_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="process 11 is not there"):
        check_process(11, proc(tmp_path, 10, status=MINE, command="x"))


def test_the_process_that_asks_is_refused() -> None:
    with pytest.raises(UsageError, match="is one of holter's own"):
        check_process(os.getpid())
