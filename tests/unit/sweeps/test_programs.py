"""How the program of a trial is ended."""

import signal
import subprocess
import sys
from types import SimpleNamespace

import pytest

from holter.agents.program import _exit_of, _Watched

STUBBORN = """
import signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("ready", flush=True)
time.sleep(300)
"""
WILLING = """
import signal, sys, time
signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(print("asked", flush=True)))
print("ready", flush=True)
time.sleep(300)
"""


class Run:
    """What its run says each time that somebody looks."""

    def __init__(self, *heard: list[str]) -> None:
        self._heard = list(heard)
        self.looked = 0

    def hear(self) -> SimpleNamespace:
        self.looked += 1
        names = self._heard.pop(0) if self._heard else []
        return SimpleNamespace(rows=[], records=[type(name, (), {})() for name in names])


def watched(program: str, run: Run) -> _Watched:
    process = subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, process_group=0, stderr=subprocess.DEVNULL
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    return _Watched(process, run, metric="loss")  # type: ignore[arg-type]  # it only has to hear


def end(found: _Watched, *, is_gentle: bool, grace_s: float = 60.0) -> int:
    renewed: list[None] = []
    with _exit_of(found.process) as wait:
        found.end(wait, is_gentle=is_gentle, grace_s=grace_s, renew=lambda: renewed.append(None))
    with found.process.stdout or sys.stdout:
        pass
    return found.process.returncode


def test_a_trial_that_others_beat_is_asked_to_leave_after_its_next_checkpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("holter.agents.program.FOLLOW_S", 0.01)
    run = Run(["CheckpointSaved"], ["Logged"], [], ["Checkpointed"], [])
    found = watched(WILLING, run)
    found.hear()
    assert end(found, is_gentle=True) == 0
    assert run.looked == 4


def test_one_that_sets_no_marks_is_asked_at_once() -> None:
    run = Run()
    found = watched(WILLING, run)
    assert end(found, is_gentle=True) == 0
    assert run.looked == 0


def test_one_that_does_not_leave_is_killed_and_its_lease_is_kept_until_then() -> None:
    found = watched(STUBBORN, Run())
    assert end(found, is_gentle=True, grace_s=0.2) == -signal.SIGKILL
