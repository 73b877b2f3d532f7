"""Starts trials in fresh processes, in turn for all trackers, so that a slow moment of the machine hits all alike."""

import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from benchmarks.plan import Plan
from benchmarks.trackers import PEERS

ROOT = Path(__file__).resolve().parents[1]
TIMEOUT_S = 120.0

# A tracker that wants the network finds it closed at once.
CLOSED = "http://127.0.0.1:9"
# PYTHONDONTWRITEBYTECODE, for instance, would make every start a compilation.
FOREIGN_PREFIXES = ("HOLTER_", "WANDB_", "TRACKIO_", "SLURM_", "TORCHELASTIC_", "PYTHON")


class Usage(msgspec.Struct, frozen=True):
    """CPU seconds of the measured process, and of everything that it left behind (sidecar, service)."""

    exit_code: int
    main_cpu_s: float
    helper_cpu_s: float

    @property
    def cpu_s(self) -> float:
        return self.main_cpu_s + self.helper_cpu_s


class TrialFailed(Exception):
    """A measured process did not come to its end."""


R = TypeVar("R")


def run_trial(
    plan: Plan, task: str, tracker: str, result: type[R], *, arguments: dict[str, Any] | None = None
) -> tuple[R, Usage]:
    """One trial in a new process and an empty directory; waits until its helpers have gone. Raises TrialFailed."""
    python = str(plan.peers if tracker in PEERS else sys.executable)
    directory = Path(tempfile.mkdtemp(prefix=f"{task}-{tracker}-", dir=plan.scratch))
    answer = directory / "answer.json"
    command = [python, "-m", "benchmarks.worker", task, tracker, str(answer), json.dumps(arguments or {})]
    try:
        usage, errors = reap(command, environment(directory), directory)
        if usage.exit_code != 0 or not answer.exists():
            raise TrialFailed(f"{task} with {tracker} ended with exit code {usage.exit_code}: {errors[-2000:]}")
        return msgspec.json.decode(answer.read_bytes(), type=result), usage
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def reap(command: Sequence[str], environ: dict[str, str], directory: Path, /) -> tuple[Usage, str]:
    """Run a command until all of its descendants have gone; returns what they used and what they said."""
    # Not the peers' Python: the reaper belongs to us.
    line = [sys.executable, "-m", "benchmarks.reaper", str(TIMEOUT_S), *command]
    done = subprocess.run(line, cwd=directory, env=environ, capture_output=True, text=True, check=True)
    return msgspec.json.decode(done.stdout.splitlines()[-1], type=Usage), done.stderr


def environment(directory: Path) -> dict[str, str]:
    """The caller's environment without settings of any tracker, and with everything they write inside `directory`."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(FOREIGN_PREFIXES)}
    place = str(directory)
    return kept | {
        "PYTHONPATH": str(ROOT),
        "HOME": place,
        "HOLTER_DIR": place,
        "HOLTER_SILENT": "1",
        "WANDB_SILENT": "true",
        "WANDB_ERROR_REPORTING": "false",
        "WANDB_CACHE_DIR": place,
        "WANDB_CONFIG_DIR": place,
        "WANDB_DATA_DIR": place,
        "TRACKIO_DIR": place,
        "HF_HUB_OFFLINE": "1",
        "DO_NOT_TRACK": "1",
        "OMP_NUM_THREADS": "1",
        **dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"), CLOSED),
    }


def trackers_of(plan: Plan, *ours: str) -> list[str]:
    """Ours, and the peers where they are wanted."""
    return [*ours, *(PEERS if plan.peers else ())]


def in_turn(trackers: Sequence[str], repetitions: int) -> list[str]:
    """Every repetition visits all of them in another order."""
    return [each for _ in range(repetitions) for each in random.sample(trackers, len(trackers))]
