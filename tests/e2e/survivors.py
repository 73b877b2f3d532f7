"""Ten programs under `holter run` that are to end as they would have, whatever becomes of those around them."""

import contextlib
import os
import random
import signal
import subprocess
import threading
import time
import tty
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from tests.e2e.commands import Command, bash, python
from tests.e2e.launches import QUIET, UNDER_HOLTER
from tests.e2e.programs import sidecars, wait_until

# Begins when all are there, and tells with which code the program ended, whatever became of those around it.
WITNESS = ["sh", "-c", 'while [ ! -e "$GO" ]; do sleep 0.05; done; "$@"; echo $? > "$RESULT"', "sh"]
# The blow falls somewhere in here: the programs print for longer, and then wait for it.
LATEST_BLOW_S = 0.4
WITHIN_S = 60.0

LINES = "".join(f"line {i}\n" for i in range(200))
NUMBERS = "".join(f"{i}\n" for i in range(1, 41))


def patient_python(source: str) -> Command:
    """A program that can call `struck()`, which returns when the blow has fallen."""
    return python(
        "import os, time\n"
        "def struck():\n"
        "    while not os.path.exists(os.environ['STRUCK']): time.sleep(0.01)\n" + source
    )


def patient_bash(script: str) -> Command:
    return bash('struck() { while [ ! -e "$STRUCK" ]; do sleep 0.02; done; }; ' + script)


PROGRAMS: dict[str, tuple[Command, int, str]] = {
    "prints lines": (
        patient_python(
            "for i in range(200):\n    print('line', i, flush=True); time.sleep(0.006)\n    if i == 150: struck()"
        ),
        0,
        LINES,
    ),
    "prints in bursts": (
        patient_python(
            "for i in range(6):\n    print('x' * 99_999, flush=True); time.sleep(0.2)\n    if i == 3: struck()"
        ),
        0,
        ("x" * 99_999 + "\n") * 6,
    ),
    "is silent, then prints more than a pipe holds": (
        patient_python("struck(); time.sleep(0.5); print('y' * 299_999)"),
        0,
        "y" * 299_999 + "\n",
    ),
    "prints without lines": (
        patient_python("for i in range(100):\n    os.write(1, b'.'); time.sleep(0.012)\n    if i == 75: struck()"),
        0,
        "." * 100,
    ),
    "prints from children": (
        patient_bash("for i in {1..40}; do /bin/echo $i; sleep 0.03; [ $i != 30 ] || struck; done"),
        0,
        NUMBERS,
    ),
    "is a shell loop": (
        patient_bash("for i in {1..40}; do echo $i; sleep 0.03; [ $i != 30 ] || struck; done; exit 9"),
        9,
        NUMBERS,
    ),
    "leaves with a code": (
        patient_python("print('a', flush=True); struck(); time.sleep(0.3); print('b'); raise SystemExit(7)"),
        7,
        "a\nb\n",
    ),
    "raises": (
        patient_python("print('a', flush=True); struck(); time.sleep(0.3); os.close(2); 1 / 0"),
        1,
        "a\n",
    ),
    "kills itself": (patient_bash("echo a; struck; sleep 0.3; echo b; kill -9 $$"), 137, "a\nb\nKilled\n"),
    "has threads": (
        patient_python(
            "import threading\n"
            "def work():\n"
            "    for i in range(50):\n"
            "        time.sleep(0.02); os.write(1, b't\\n')\n"
            "        if i == 35: struck()\n"
            "threads = [threading.Thread(target=work) for _ in range(3)]\n"
            "for each in threads: each.start()\nfor each in threads: each.join()\n"
        ),
        0,
        "t\n" * 150,
    ),
}


class Survivor:
    """One program under `holter run`, with its output collected from a pipe or a terminal."""

    def __init__(self, name: str, place: Path, *, on_terminal: bool) -> None:
        place.mkdir(parents=True)
        self.name = name
        command, self.code, self.printed = PROGRAMS[name]
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
            "STRUCK": str(place.parent / "struck"),
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

    @property
    def kept(self) -> str:
        return "".join(path.read_text() for path in Path(self.directory).glob("runs/*/output.log"))

    def has_sidecar(self) -> bool:
        return bool(sidecars(self.directory)) and bool(list(Path(self.directory).glob("runs/*/sidecar-*.lock")))

    def has_begun(self) -> bool:
        return bool(self.read) or "silent" in self.name

    def has_ended(self) -> bool:
        return self.result.exists() and self.result.read_text().endswith("\n")

    def has_read(self, count: int) -> bool:
        return len(self.read) >= count

    def has_kept(self, count: int) -> bool:
        return len(self.kept) >= count

    def _read(self) -> None:
        with contextlib.suppress(OSError):
            while data := os.read(self._fd, 65536):
                self.read += data

    def clean_up(self) -> None:
        for pid in (self.launcher.pid, *sidecars(self.directory)):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.launcher.wait()
        self.reader.join(WITHIN_S)
        os.close(self._fd)


class Scene:
    """All of them at once, in the middle of their work."""

    def __init__(self, place: Path, *, on_terminal: bool) -> None:
        self._place = place
        self.survivors = [
            Survivor(name, place / str(number), on_terminal=on_terminal) for number, name in enumerate(PROGRAMS)
        ]

    def begin(self) -> None:
        """Returns when each has a sidecar and has printed something, and a moment later."""
        for each in self.survivors:
            wait_until(each.has_sidecar, within_s=WITHIN_S)
        (self._place / "go").touch()
        for each in self.survivors:
            wait_until(each.has_begun, within_s=WITHIN_S)
        time.sleep(random.uniform(0, LATEST_BLOW_S))

    def strike(self, victim: str, number: int) -> None:
        """Send a signal to each `launcher` or `sidecar`."""
        for each in self.survivors:
            with contextlib.suppress(ProcessLookupError):
                os.kill(each.launcher.pid if victim == "launcher" else each.sidecar, number)

    def go_on(self) -> None:
        """The last blow has fallen: the programs may come to their ends."""
        (self._place / "struck").touch()

    def await_ends(self) -> list[str]:
        """What each program left with that it would not have."""
        return [
            f"{each.name}: ended with {each.result.read_text()!r}"
            for each in self.survivors
            if _awaited(each.has_ended) and each.result.read_text() != f"{each.code}\n"
        ]

    def await_output(self, *, repeats: int = 0) -> list[str]:
        """What was read or kept of each program that it did not print, or is missing."""
        found = []
        for each in self.survivors:
            for has_all in (each.has_read, each.has_kept):
                _awaited(partial(has_all, len(each.printed)))
            if without_repeats(each.read.decode(), each.printed, repeats) != each.printed:
                found.append(f"{each.name}: read {each.read[-200:]!r}")
            if each.kept != each.printed:
                found.append(f"{each.name}: kept {each.kept[-200:]!r}")
        return found

    def await_departures(self) -> list[str]:
        """Whoever reads behind `holter run` sees the end, and it leaves with the code of its command."""
        found = []
        for each in self.survivors:
            each.reader.join(WITHIN_S)
            if each.launcher.wait(WITHIN_S) not in (0, -signal.SIGKILL) or each.reader.is_alive():
                found.append(f"{each.name}: `holter run` left with {each.launcher.returncode}, or its reader did not")
        return found


@contextlib.contextmanager
def ten_programs(place: Path, *, on_terminal: bool) -> Iterator[Scene]:
    scene = Scene(place, on_terminal=on_terminal)
    try:
        scene.begin()
        yield scene
    finally:
        for each in scene.survivors:
            each.clean_up()


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


def _awaited(claim: Callable[[], bool]) -> bool:
    wait_until(claim, within_s=WITHIN_S)
    return True
