"""Where a fault happens, as whoever strikes sees it: the processes, their files, their cgroup, their terminal."""

import contextlib
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.zoo.cgroups import Cgroup
    from tests.zoo.slurm import Cluster


class Scene:
    """One program on its stage. The runner makes it, a fault's `strike` uses it."""

    def __init__(self, stage: Path, process: subprocess.Popen[bytes]) -> None:
        self.stage = stage
        self.process = process
        self.cgroup: Cgroup | None = None
        self.terminal = -1
        """The other end of its terminal, where it has one."""
        self.cluster: Cluster | None = None

    @property
    def pid(self) -> int:
        """The process that trains; of several ranks, rank 0."""
        return self.rank(0)

    def rank(self, number: int) -> int:
        """The pid of a rank."""
        return int((self.stage / f"ready.{number}").read_text())

    @property
    def job(self) -> str:
        """The number of its job."""
        return (self.stage / "output").read_text().strip()

    def slurm(self, *words: str) -> str:
        """Run a command of SLURM."""
        assert self.cluster is not None
        return self.cluster.command(*words)

    def pid_of(self, name: str) -> int:
        """The pid that the program wrote into a mark, such as that of a worker. Waits for it."""
        return int(self.await_mark(name))

    def await_mark(self, name: str, within_s: float = 20.0) -> str:
        """Wait until the program says so; returns the text that it left. Raises TimeoutError."""
        path = self.stage / name
        deadline = time.monotonic() + within_s
        while not path.exists():
            if time.monotonic() > deadline or self.process.poll() is not None:
                raise TimeoutError(f"no {path} within {within_s} s, or the program ended before")
            time.sleep(0.01)
        return path.read_text()

    def kill(self, number: int, pid: int = 0) -> None:
        """Send a signal as a person would: from a shell."""
        subprocess.run(["bash", "-c", f"kill -{number} {pid or self.pid}"], check=True)

    def hang_up(self) -> None:
        """Close the terminal."""
        os.close(self.terminal)
        self.terminal = -1

    def type(self, keys: bytes) -> None:
        """Press keys in the terminal."""
        os.write(self.terminal, keys)

    def end(self) -> None:
        """Leave nothing of ours behind."""
        if self.terminal >= 0:
            self.hang_up()
        for path in self.stage.glob("ready.*"):
            with contextlib.suppress(ProcessLookupError, ValueError):
                if self.process.poll() is None:
                    os.kill(int(path.read_text()), signal.SIGKILL)
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
