"""Kills and stops `holter run` and its sidecar while ten programs run: each must end as it would have."""

import contextlib
import os
import signal
import subprocess
import threading
import time
import tty
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from tests.e2e.commands import Command, bash, python
from tests.e2e.programs import sidecars, wait_until
from tests.e2e.test_run import QUIET, UNDER_HOLTER

# Begins when all are there, and tells with which code the program ended, whatever became of those around it.
WITNESS = ["sh", "-c", 'while [ ! -e "$GO" ]; do sleep 0.05; done; "$@"; echo $? > "$RESULT"', "sh"]
STRUCK_AFTER_S = 0.4

LINES = "".join(f"line {i}\n" for i in range(200))
PROGRAMS: dict[str, tuple[Command, int, str]] = {
    "prints lines": (
        python("import time\nfor i in range(200): print('line', i, flush=True); time.sleep(0.006)"),
        0,
        LINES,
    ),
    "prints in bursts": (
        python("import time\nfor i in range(6): print('x' * 99_999, flush=True); time.sleep(0.2)"),
        0,
        ("x" * 99_999 + "\n") * 6,
    ),
    "is silent, then prints more than a pipe holds": (
        python("import time; time.sleep(1.3); print('y' * 299_999)"),
        0,
        "y" * 299_999 + "\n",
    ),
    "prints without lines": (
        python("import os, time\nfor i in range(100): os.write(1, b'.'); time.sleep(0.012)"),
        0,
        "." * 100,
    ),
    "prints from children": (
        bash("for i in {1..40}; do /bin/echo $i; sleep 0.03; done"),
        0,
        numbers := "".join(f"{i}\n" for i in range(1, 41)),
    ),
    "is a shell loop": (bash("for i in {1..40}; do echo $i; sleep 0.03; done; exit 9"), 9, numbers),
    "leaves with a code": (
        python("import sys, time; print('a', flush=True); time.sleep(1.2); print('b'); sys.exit(7)"),
        7,
        "a\nb\n",
    ),
    "raises": (python("import time; print('a', flush=True); time.sleep(1.2); raise SystemExit(1)"), 1, "a\n"),
    "kills itself": (bash("echo a; sleep 1.2; echo b; kill -9 $$"), 137, "a\nb\nKilled\n"),
    "has threads": (
        python(
            "import os, threading, time\n"
            "def work():\n    for _ in range(50): time.sleep(0.02); os.write(1, b't\\n')\n"
            "threads = [threading.Thread(target=work) for _ in range(3)]\n"
            "for each in threads: each.start()\nfor each in threads: each.join()\n"
        ),
        0,
        "t\n" * 150,
    ),
}


class Launched:
    """One program under `holter run`, with its output collected from a pipe or a terminal."""

    def __init__(self, command: Command, place: Path, *, on_terminal: bool) -> None:
        place.mkdir(parents=True)
        self.directory = str(place)
        self.result = place / "result"
        self.read = b""
        self._fd, theirs = os.openpty() if on_terminal else os.pipe()
        if on_terminal:
            tty.setraw(theirs)
        environ = {
            **os.environ,
            **QUIET,
            "HOLTER_DIR": self.directory,
            "RESULT": str(self.result),
            "GO": str(place.parent / "go"),
        }
        self.launcher = subprocess.Popen(
            [*UNDER_HOLTER, *WITNESS, *command], stdin=subprocess.DEVNULL, stdout=theirs, stderr=theirs, env=environ
        )
        os.close(theirs)
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    @property
    def sidecar(self) -> int:
        (pid,) = sidecars(self.directory)
        return pid

    def has_sidecar(self) -> bool:
        return bool(sidecars(self.directory)) and bool(list(Path(self.directory).glob("runs/*/sidecar-*.lock")))

    @property
    def kept(self) -> str:
        return "".join(path.read_text() for path in Path(self.directory).glob("runs/*/output.log"))

    def has_read(self, count: int) -> bool:
        return len(self.read) >= count

    def has_kept(self, count: int) -> bool:
        return len(self.kept) >= count

    def has_ended(self) -> bool:
        return self.result.exists() and self.result.read_text().endswith("\n")

    def has_printed(self, count: int) -> bool:
        return len(self.read) >= count

    def _read(self) -> None:
        with contextlib.suppress(OSError):
            while data := os.read(self._fd, 65536):
                self.read += data

    def clean_up(self) -> None:
        for pid in (self.launcher.pid, *sidecars(self.directory)):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.launcher.wait()
        self.reader.join(10)
        os.close(self._fd)


@contextlib.contextmanager
def ten_programs(place: Path, *, on_terminal: bool) -> Iterator[dict[str, Launched]]:
    running = {
        name: Launched(command, place / str(number), on_terminal=on_terminal)
        for number, (name, (command, _, _)) in enumerate(PROGRAMS.items())
    }
    try:
        for each in running.values():
            wait_until(each.has_sidecar, within_s=30)
        (place / "go").touch()
        time.sleep(STRUCK_AFTER_S)
        yield running
    finally:
        for each in running.values():
            each.clean_up()


def strike(running: dict[str, Launched], victim: Callable[[Launched], int], number: int) -> None:
    for each in running.values():
        if not each.has_ended():
            os.kill(victim(each), number)


def assert_all_ended_as_they_would_have(running: dict[str, Launched], *, repeats: int = 0) -> None:
    for name, each in running.items():
        _, code, printed = PROGRAMS[name]
        wait_until(each.has_ended, within_s=30)
        assert (name, each.result.read_text()) == (name, f"{code}\n")
        wait_until(partial(each.has_read, len(printed)), within_s=10)
        assert (name, without_repeats(each.read.decode(), printed, repeats)) == (name, printed)
        wait_until(partial(each.has_kept, len(printed)), within_s=10)
        assert (name, each.kept) == (name, printed)


def without_repeats(read: str, printed: str, most: int) -> str:
    """What was read, less the pieces that were handed on in the very moment of a blow, and handed on again."""
    extra = len(read) - len(printed)
    if most == 0 or extra <= 0:
        return read
    same = next((at for at in range(len(printed)) if read[at] != printed[at]), len(printed))
    for at in range(max(1, same - extra), same + 1):
        for length in range(1, min(at, extra) + 1):
            if read[at - length : at] == read[at : at + length]:
                shorter = without_repeats(read[:at] + read[at + length :], printed, most - 1)
                if shorter == printed:
                    return shorter
    return read


def is_over(running: dict[str, Launched]) -> None:
    """Whoever reads behind `holter run` sees the end, and it leaves with the code of its command."""
    for each in running.values():
        assert each.launcher.wait(20) == 0
        each.reader.join(10)
        assert not each.reader.is_alive()


@pytest.mark.parametrize("on_terminal", [False, True], ids=["pipe", "terminal"])
def test_a_killed_launcher_leaves_its_program_as_it_was(on_terminal: bool, tmp_path: Path) -> None:
    with ten_programs(tmp_path / "runs", on_terminal=on_terminal) as running:
        strike(running, lambda each: each.launcher.pid, signal.SIGKILL)
        assert_all_ended_as_they_would_have(running, repeats=1)
        for each in running.values():
            each.reader.join(10)
            assert not each.reader.is_alive()


@pytest.mark.parametrize("on_terminal", [False, True], ids=["pipe", "terminal"])
def test_a_stopped_launcher_leaves_its_program_as_it_was(on_terminal: bool, tmp_path: Path) -> None:
    with ten_programs(tmp_path / "runs", on_terminal=on_terminal) as running:
        strike(running, lambda each: each.launcher.pid, signal.SIGSTOP)
        assert_all_ended_as_they_would_have(running, repeats=1)
        strike_back(running, lambda each: each.launcher.pid)
        is_over(running)
        assert_all_ended_as_they_would_have(running, repeats=1)


@pytest.mark.parametrize("on_terminal", [False, True], ids=["pipe", "terminal"])
def test_a_killed_sidecar_leaves_its_program_as_it_was(on_terminal: bool, tmp_path: Path) -> None:
    with ten_programs(tmp_path / "runs", on_terminal=on_terminal) as running:
        strike(running, lambda each: each.sidecar, signal.SIGKILL)
        assert_all_ended_as_they_would_have(running)
        is_over(running)


@pytest.mark.parametrize("on_terminal", [False, True], ids=["pipe", "terminal"])
def test_a_stopped_sidecar_leaves_its_program_as_it_was(on_terminal: bool, tmp_path: Path) -> None:
    with ten_programs(tmp_path / "runs", on_terminal=on_terminal) as running:
        strike(running, lambda each: each.sidecar, signal.SIGSTOP)
        assert_all_ended_as_they_would_have(running)
        is_over(running)


@pytest.mark.parametrize("on_terminal", [False, True], ids=["pipe", "terminal"])
def test_a_launcher_that_is_stopped_and_continued_again_and_again_loses_nothing(
    on_terminal: bool, tmp_path: Path
) -> None:
    with ten_programs(tmp_path / "runs", on_terminal=on_terminal) as running:
        for _ in range(3):
            strike(running, lambda each: each.launcher.pid, signal.SIGSTOP)
            time.sleep(0.35)
            strike_back(running, lambda each: each.launcher.pid)
            time.sleep(0.1)
        is_over(running)
        assert_all_ended_as_they_would_have(running, repeats=3)


def strike_back(running: dict[str, Launched], victim: Callable[[Launched], int]) -> None:
    for each in running.values():
        with contextlib.suppress(ProcessLookupError):
            os.kill(victim(each), signal.SIGCONT)
