"""One program on a stage of its own: what surrounds it, its beginning, the strike, its end. It knows no verdicts."""

import contextlib
import os
import select
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from tests.zoo.cgroups import Cgroup, make_cgroup
from tests.zoo.fault import PYTHON, SCRIPT, Fault
from tests.zoo.modes import NOBODY, RUN, Mode
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


class Staging:
    """A program and its surroundings. Whoever makes one calls `raise_curtain`, `play` and `await_end`, once each."""

    def __init__(self, stage: Path, fault: Fault, mode: Mode, *, uid: int) -> None:
        self.stage = stage
        self.fault = fault
        self.mode = mode
        self._uid = uid
        self.cgroups: list[Cgroup] = []
        self.died_at = 0.0
        (stage / "data").mkdir()
        (stage / "script.py").write_text(textwrap.dedent(fault.program))
        for path in (stage, stage / "data"):
            path.chmod(0o755)
            os.chown(path, uid, uid)

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

    def raise_curtain(self, stack: contextlib.ExitStack) -> Scene:
        """Start it; what it leaves behind is removed when the stack ends."""
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
        scene.cgroup = self.cgroups[-1] if self.cgroups else None
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
        self.dismiss_watchers()
        for cgroup in reversed(self.cgroups):
            cgroup.remove()

    def play(self, scene: Scene) -> None:
        """Let the program begin, and strike."""
        for number in range(self.fault.processes):
            scene.await_mark(f"ready.{number}", READY_WITHIN_S)
        self.await_watchers()
        threading.Thread(target=self._note_death, args=(scene.pid,), daemon=True).start()
        (self.stage / "go").touch()
        if self.fault.strike is not None:
            self.fault.strike(scene)

    def await_watchers(self) -> None:
        """Until whoever watches is there."""

    def dismiss_watchers(self) -> None:
        """End whoever watched."""

    def _note_death(self, pid: int) -> None:
        with contextlib.suppress(ProcessLookupError):
            fd = os.pidfd_open(pid)
            select.select([fd], [], [])
            os.close(fd)
        self.died_at = time.monotonic()

    def _surroundings(self) -> Iterator[str]:
        """Commands that each become the next one, so that the pid stays the same."""
        place = self.fault.place
        self._make_cgroups()
        enter = [f"echo $$ > {group.procs}" for group in self.cgroups if not list(self._below(group))]
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
            self.cgroups.append(group)
            if place.parent_memory_bytes:
                group.limit_memory(place.parent_memory_bytes)
                group = group.make_child("job")
                self.cgroups.append(group)
            if place.memory_bytes:
                group.limit_memory(place.memory_bytes)
        if place.tasks:
            group = make_cgroup("pids")
            group.limit_tasks(place.tasks)
            self.cgroups.append(group)

    def _below(self, group: Cgroup) -> Iterator[Cgroup]:
        return (other for other in self.cgroups if other.path.parent == group.path)

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
            "ZOO_RECORDS": str(int(self.mode.watch not in (RUN, NOBODY))),
            "ZOO_PYTHON": PYTHON,
            "ZOO_CGROUP": str(self.cgroups[-1].path) if self.cgroups else "",
            **self.mode.environ,
            **dict(self.fault.place.environ),
        }

    def output(self) -> str:
        """The end of what it printed."""
        with contextlib.suppress(OSError):
            return (self.stage / "output").read_bytes()[-OUTPUT_KEPT:].decode(errors="replace")
        return ""
