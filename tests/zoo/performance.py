"""One fault in one mode: the program, its surroundings, its death, and `holter why` until it knows."""

import contextlib
import json
import os
import signal
import subprocess
import time
from typing import Any

import msgspec

from holter.catalog.judge.gathering import gather
from holter.catalog.read.loaded_run import load_run
from holter.model.evidence import Evidence
from holter.model.state import Lateness
from tests.e2e.programs import sidecars
from tests.zoo.case import Case
from tests.zoo.jobs import LIVING, JobStaging
from tests.zoo.modes import AFTER, ALONE, RUN, SIDECAR
from tests.zoo.recorded import impersonal
from tests.zoo.staging import HOLTER, OUTPUT_KEPT, READY_WITHIN_S, Staging
from tests.zoo.users import become

NEWS_WITHIN_S = 0.5


class Performance(Staging):
    """A program that somebody watches. `perform` is called once."""

    settled_within_s = 15.0

    def perform(self) -> Case:
        """Blocks until the verdict is there. What goes wrong with the fault itself is in `Case.trouble`."""
        case = Case.of(self.fault, self.mode)
        with contextlib.ExitStack() as stack:
            scene = self.raise_curtain(stack)
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

    def await_watchers(self) -> None:
        """Until the sidecar has looked around; where it must not see the end, it goes."""
        if self.mode.watch in (SIDECAR, AFTER, RUN):
            self._await_sidecar()
        if self.mode.watch == AFTER:
            for pid in sidecars(str(self.stage)):
                os.kill(pid, signal.SIGKILL)

    def dismiss_watchers(self) -> None:
        """Sidecars outlive what they watch."""
        for pid in sidecars(str(self.stage)):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def _await_sidecar(self) -> None:
        """Until it has looked around for the first time; it writes a journal of its own then."""
        deadline = time.monotonic() + READY_WITHIN_S
        wanted = 1 + (self.mode.watch != RUN)
        while len(list(self.stage.glob("data/runs/*/*.seg"))) < wanted:
            if time.monotonic() > deadline:
                raise TimeoutError("no sidecar came")
            time.sleep(0.02)
        time.sleep(0.3)

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


class JobPerformance(JobStaging, Performance):
    """A job of SLURM that somebody watches. Its sidecar dies with it."""

    settled_within_s = 40.0

    def is_settled(self) -> bool:
        """SLURM is through with the job."""
        return self.job_state() not in LIVING
