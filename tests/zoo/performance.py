"""One fault in one mode: the program, its surroundings, its death, and `holter why` until it knows."""

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from holter.catalog.judge.gathering import gather
from holter.catalog.read.run_view import load_run
from holter.model.evidence import Evidence
from holter.model.state import Lateness
from tests.e2e.programs import sidecars
from tests.zoo.case import Case
from tests.zoo.cgroups import Cgroup, make_cgroup
from tests.zoo.fault import PYTHON, SCRIPT, Fault
from tests.zoo.modes import AFTER, ALONE, RUN, SIDECAR, Mode
from tests.zoo.recorded import impersonal
from tests.zoo.scene import Scene
from tests.zoo.slurm import AROUND
from tests.zoo.users import become

PROGRAMS = Path(__file__).parent / "programs"
SOURCE = Path(__file__).parents[2] / "src"
HOLTER = (sys.executable, "-m", "holter")
FOREIGN_PREFIXES = ("HOLTER_", "WANDB_", "SLURM_", "TORCHELASTIC_", "ZOO_")
FOREIGN_NAMES = ("RANK", "LOCAL_RANK", "WORLD_SIZE")

READY_WITHIN_S = 90.0
OUTPUT_KEPT = 3000
NEWS_WITHIN_S = 0.5


class Performance:
    """A program on a stage of its own. `perform` is called once."""

    settled_within_s = 15.0

    def __init__(self, stage: Path, fault: Fault, mode: Mode, *, uid: int) -> None:
        self.stage = stage
        self.fault = fault
        self.mode = mode
        self._uid = uid
        self._cgroups: list[Cgroup] = []
        self.died_at = 0.0
        (stage / "data").mkdir()
        (stage / "script.py").write_text(textwrap.dedent(fault.program))
        for path in (stage, stage / "data"):
            path.chmod(0o755)
            os.chown(path, uid, uid)

    def perform(self) -> Case:
        """Blocks until the verdict is there. What goes wrong with the fault itself is in `Case.trouble`."""
        case = Case.of(self.fault, self.mode)
        with contextlib.ExitStack() as stack:
            scene = self._raise_curtain(stack)
            try:
                self.play(scene)
                code = self.await_end(scene)
            except (TimeoutError, subprocess.SubprocessError, OSError, ValueError, AssertionError) as error:
                return msgspec.structs.replace(case, trouble=f"{type(error).__name__}: {error}\n{self.output()}")
            answer, verdict_s = self._await_verdict()
            return msgspec.structs.replace(
                case,
                trouble="" if self.is_expected(code) else f"it ended with {self.seen(code)}\n{self.output()}",
                ended=code,
                answer=answer,
                verdict_s=verdict_s,
                output=self.output(),
                evidence=self._evidence(answer),
            )

    def await_end(self, scene: Scene) -> int:
        """The exit code of what was started. Raises TimeoutExpired."""
        return scene.process.wait(self.fault.takes_s)

    def seen(self, code: int) -> str:
        """The end in words."""
        return str(code)

    def is_expected(self, code: int) -> bool:
        """Whether the fault happened."""
        if self.mode.watch == RUN:
            return code in [end if end >= 0 else 128 - end for end in self.fault.ends]
        return code in self.fault.ends

    def _raise_curtain(self, stack: contextlib.ExitStack) -> Scene:
        command = [*self._surroundings(), *self.command()]
        output = stack.enter_context((self.stage / "output").open("wb"))
        master, slave = os.openpty() if self.fault.place.has_terminal else (-1, -1)
        if slave >= 0:
            command = ["setsid", "--ctty", *command]
        process = subprocess.Popen(
            command,
            stdin=slave if slave >= 0 else subprocess.DEVNULL,
            stdout=slave if slave >= 0 else output,
            stderr=slave if slave >= 0 else output,
            env=self.environ(),
            cwd=self.stage,
        )
        scene = Scene(self.stage, process)
        scene.cgroup = self._cgroups[-1] if self._cgroups else None
        stack.callback(self.clear, scene)
        if slave >= 0:
            os.close(slave)
            scene.terminal = master
            threading.Thread(target=self._read, args=(scene,), daemon=True).start()
        return scene

    def _read(self, scene: Scene) -> None:
        """Somebody has to read what a terminal shows; never blocks in a read, which would keep the terminal open."""
        while (terminal := scene.terminal) >= 0:
            with contextlib.suppress(OSError, ValueError):
                if select.select([terminal], [], [], 0.05)[0]:
                    with (self.stage / "output").open("ab") as file:
                        file.write(os.read(terminal, 65536))
                    continue
            time.sleep(0.01)

    def clear(self, scene: Scene) -> None:
        """Leave nothing running and nothing mounted."""
        scene.end()
        for pid in sidecars(str(self.stage)):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        for cgroup in reversed(self._cgroups):
            cgroup.remove()

    def play(self, scene: Scene) -> None:
        """Let the program begin, and strike."""
        for number in range(self.fault.processes):
            scene.await_mark(f"ready.{number}", READY_WITHIN_S)
        if self.mode.watch in (SIDECAR, AFTER, RUN):
            self._await_sidecar()
        if self.mode.watch == AFTER:
            for pid in sidecars(str(self.stage)):
                os.kill(pid, signal.SIGKILL)
        threading.Thread(target=self._note_death, args=(scene.pid,), daemon=True).start()
        (self.stage / "go").touch()
        if self.fault.strike is not None:
            self.fault.strike(scene)

    def _note_death(self, pid: int) -> None:
        with contextlib.suppress(ProcessLookupError):
            fd = os.pidfd_open(pid)
            select.select([fd], [], [])
            os.close(fd)
        self.died_at = time.monotonic()

    def _await_sidecar(self) -> None:
        """Until it has looked around for the first time; it writes a journal of its own then."""
        deadline = time.monotonic() + READY_WITHIN_S
        wanted = 1 + (self.mode.watch != RUN)
        while len(list(self.stage.glob("data/runs/*/*.seg"))) < wanted:
            if time.monotonic() > deadline:
                raise TimeoutError("no sidecar came")
            time.sleep(0.02)
        time.sleep(0.3)

    def _surroundings(self) -> Iterator[str]:
        """Commands that each become the next one, so that the pid stays the same."""
        place = self.fault.place
        self._make_cgroups()
        enter = [f"echo $$ > {group.procs}" for group in self._cgroups if not list(self._below(group))]
        mounts = [
            f"mkdir -p {self._path(where)} && mount -t tmpfs -o {options},mode=1777 zoo {self._path(where)}"
            for where, options in place.disks
        ]
        if enter or mounts:
            yield from ["unshare", "--mount", "--"] if mounts else []
            yield from ["sh", "-c", " && ".join([*enter, *mounts, 'exec "$@"']), "sh"]
        if place.limits:
            yield from ["prlimit", *place.limits, "--"]
        if self._uid:
            yield from become(self._uid)

    def _make_cgroups(self) -> None:
        place = self.fault.place
        if place.memory_bytes or place.parent_memory_bytes:
            group = make_cgroup("memory")
            self._cgroups.append(group)
            if place.parent_memory_bytes:
                group.limit_memory(place.parent_memory_bytes)
                group = group.make_child("job")
                self._cgroups.append(group)
            if place.memory_bytes:
                group.limit_memory(place.memory_bytes)
        if place.tasks:
            group = make_cgroup("pids")
            group.limit_tasks(place.tasks)
            self._cgroups.append(group)

    def _below(self, group: Cgroup) -> Iterator[Cgroup]:
        return (other for other in self._cgroups if other.path.parent == group.path)

    def _path(self, where: str) -> str:
        return where if where.startswith("/") else str(self.stage / where)

    def command(self) -> list[str]:
        """What is started, without its surroundings."""
        script = str(self.stage / "script.py")
        command = [word.replace(SCRIPT, script) for word in self.fault.command]
        return [*HOLTER, "run", "--", *command] if self.mode.watch == RUN else command

    def environ(self) -> dict[str, str]:
        """Of the program, and of `holter why` afterwards."""
        kept = {
            name: value
            for name, value in AROUND.items()
            if not name.startswith(FOREIGN_PREFIXES) and name not in FOREIGN_NAMES
        }
        return {
            **kept,
            "HOME": str(self.stage),
            "HOLTER_DIR": str(self.stage / "data"),
            "HOLTER_QUIET": "1",
            "PYTHONPATH": os.pathsep.join(map(str, (PROGRAMS, SOURCE))),
            "PYTHONDONTWRITEBYTECODE": "1",
            "OMP_NUM_THREADS": "1",
            "ZOO_STAGE": str(self.stage),
            "ZOO_RECORDS": str(int(self.mode.watch != RUN)),
            "ZOO_PYTHON": PYTHON,
            "ZOO_CGROUP": str(self._cgroups[-1].path) if self._cgroups else "",
            **self.mode.environ,
            **dict(self.fault.place.environ),
        }

    def _await_verdict(self) -> tuple[dict[str, Any], float | None]:
        """The last word, and how long after the death it was first heard."""
        heard: list[tuple[float, dict[str, Any]]] = []
        deadline = time.monotonic() + self.settled_within_s
        while True:
            is_settled = self.is_settled()
            answer = self._why()
            heard.append((time.monotonic(), answer))
            if is_settled or time.monotonic() > deadline:
                break
            self._await_news()
        last = heard[-1][1]
        first_at = heard[-1][0]
        for at, answer in reversed(heard):
            if (answer.get("state"), answer.get("cause")) != (last.get("state"), last.get("cause")):
                break
            first_at = at
        return last, max(0.0, first_at - self.died_at) if self.died_at else None

    def _await_news(self) -> None:
        """Until somebody wrote something down or nobody is left who could: whoever asks all the time is in the way."""
        known = self._written()
        deadline = time.monotonic() + NEWS_WITHIN_S
        while time.monotonic() < deadline and self._written() == known and not self.is_settled():
            time.sleep(0.03)

    def _written(self) -> list[tuple[str, int, int]]:
        found = []
        for path in (self.stage / "data").glob("runs/*/*"):
            with contextlib.suppress(FileNotFoundError):
                found.append((path.name, path.stat().st_size, path.stat().st_mtime_ns))
        return sorted(found)

    def is_settled(self) -> bool:
        """Whether nobody will add anything to what is known."""
        return self.mode.watch in (AFTER, ALONE) or not sidecars(str(self.stage))

    def _why(self) -> dict[str, Any]:
        command = [*(become(self._uid) if self._uid else []), *HOLTER, "why", "--json"]
        done = subprocess.run(command, capture_output=True, text=True, env=self.environ(), cwd=self.stage, check=False)
        try:
            found: dict[str, Any] = json.loads(done.stdout)
        except ValueError:
            return {"error": (done.stderr or done.stdout)[-OUTPUT_KEPT:]}
        return found

    def _evidence(self, answer: dict[str, Any]) -> Evidence | None:
        """What the answer rests on, without the names of this machine."""
        if "error" in answer:
            return None
        directory = self.stage / "data" / "runs" / answer["run"]
        loaded = load_run(str(directory), now_ns=time.time_ns(), lateness=Lateness())
        return impersonal(gather(loaded), self.stage) if loaded is not None else None

    def output(self) -> str:
        """The end of what it printed."""
        with contextlib.suppress(OSError):
            return (self.stage / "output").read_bytes()[-OUTPUT_KEPT:].decode(errors="replace")
        return ""
