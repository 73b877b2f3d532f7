"""A program as a job of SLURM. Knows nothing of verdicts."""

import contextlib
import shlex
import subprocess
import time
from pathlib import Path

from tests.zoo.fault import Fault
from tests.zoo.modes import Mode
from tests.zoo.scene import Scene
from tests.zoo.slurm import Cluster
from tests.zoo.staging import Staging

LIVING = ("RUNNING", "COMPLETING", "CONFIGURING")


class JobStaging(Staging):
    """A program that SLURM starts, and sometimes ends."""

    def __init__(self, stage: Path, fault: Fault, mode: Mode, *, cluster: Cluster) -> None:
        super().__init__(stage, fault, mode, uid=0)
        self._cluster = cluster
        self._job = ""

    def command(self) -> list[str]:
        """Submits it and stays until it is over."""
        script = self.stage / "job.sh"
        script.write_text(f"#!/bin/bash\nexec {shlex.join(super().command())}\n")
        options = ["--wait", "--parsable", f"--output={self.stage}/job.out", *self.fault.place.job]
        return ["sbatch", *options, str(script)]

    def environ(self) -> dict[str, str]:
        """With the way to the cluster."""
        return {**super().environ(), **self._cluster.environ}

    def play(self, scene: Scene) -> None:
        """The job's number comes first."""
        scene.cluster = self._cluster
        super().play(scene)

    def await_end(self, scene: Scene) -> int:
        """Of the job, not of the command that submitted it."""
        self._job = scene.job
        deadline = time.monotonic() + self.fault.takes_s
        while not self.died_at:
            if time.monotonic() > deadline:
                raise TimeoutError(f"job {self._job} still runs: {self._cluster.job(self._job)}")
            time.sleep(0.05)
        return 0

    def seen(self, code: int) -> str:
        """What SLURM says."""
        return self.job_state()

    def is_expected(self, code: int) -> bool:
        """Whether SLURM says what it should."""
        return self.job_state() in self.fault.job_states

    def clear(self, scene: Scene) -> None:
        """A job that was put back into the queue would begin again."""
        with contextlib.suppress(subprocess.CalledProcessError, FileNotFoundError):
            self._cluster.command("scancel", scene.job)
        super().clear(scene)

    def output(self) -> str:
        """What the job printed, and what SLURM added."""
        with contextlib.suppress(OSError):
            return (self.stage / "job.out").read_text(errors="replace")[-3000:]
        return super().output()

    def job_state(self) -> str:
        """What SLURM calls it now."""
        return self._cluster.job(self._job)["JobState"]
