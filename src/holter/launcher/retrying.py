"""`holter run --retry`: starts a command again after deaths that may pass, from its last whole checkpoint."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence

import msgspec

from holter.catalog.catalog import Catalog
from holter.catalog.judge.inquiry import inquire
from holter.catalog.read.going_on import way_on
from holter.catalog.read.loaded_run import LoadedRun
from holter.errors import HolterError
from holter.model.records import Raised
from holter.model.state import read_lateness
from holter.recording.identity import new_run_id
from holter.recording.settings import read_settings
from holter.recording.voice import Voice

USUAL = (
    "host-out-of-memory",
    "cgroup-out-of-memory",
    "userspace-oom-killer",
    "scheduler-preempted",
    "collective-timeout",
    "connection-lost",
    "gpu-fault",
)
"""After these the same command may well come through."""
LONGEST_WAIT_S = 300.0
ATTEMPT, RESUME_FROM = "HOLTER_ATTEMPT", "HOLTER_RESUME_FROM"
EXCEPTION = "uncaught-exception"


class Retry(msgspec.Struct, frozen=True, kw_only=True):
    """How often, after what, and how soon."""

    times: int
    causes: tuple[str, ...] = USUAL
    wait_s: float = 5.0


class Death(msgspec.Struct, frozen=True):
    """Of what an attempt died, and where in its code."""

    cause: str
    place: str = ""


def causes_of(text: str) -> tuple[str, ...]:
    """The causes that somebody lists. Raises UsageError for one that there is not."""
    from holter.diagnosis.loading import find_rule  # only for those who list some

    return tuple(find_rule(word.strip()).cause for word in text.split(",") if word.strip())


def why_not(death: Death, before: Sequence[Death], retry: Retry, /) -> str:
    """Why the command is not started again; empty where it is. Pure."""
    if death.cause not in retry.causes:
        told = death.cause or "no known cause"
        return f"{told} is none of the causes to retry after ({', '.join(retry.causes)})"
    if death.cause == EXCEPTION and before and before[-1] == death:
        return f"the same exception came again at the same place ({death.place})"
    if len(before) >= retry.times:
        return f"{retry.times} retries are used up"
    return ""


def wait_before(retries: int, retry: Retry) -> float:
    """The pause before a retry grows each time."""
    return float(min(LONGEST_WAIT_S, retry.wait_s * 2.0**retries))


def launch_again(arguments: Sequence[str], retry: Retry) -> int:
    """Run `holter run ARGUMENTS` until it ends well, or may not be tried again; the exit code is the last one's."""
    settings = read_settings({}, os.environ)
    voice = Voice(silent=settings.silent, quiet=settings.quiet)
    run = settings.run_id or new_run_id()
    told: dict[str, str] = {}
    deaths: list[Death] = []
    with _Child() as child:
        while True:
            number = len(deaths) + 1
            code = child.run(arguments, {**os.environ, **told, "HOLTER_RUN_ID": run, ATTEMPT: str(number)})
            if code == 0 or child.is_asked_to_end:
                return code
            loaded = _load(run, settings.dir)
            if loaded is None:
                voice.warn("retry", f"not started again: nothing is known of run {run}")
                return code
            death = _death_of(loaded)
            if because := why_not(death, deaths, retry):
                voice.warn("retry", f"not started again after attempt {number}: {because}")
                return code
            wait_s = wait_before(len(deaths), retry)
            deaths.append(death)
            way = way_on(loaded)
            place = way.checkpoint.path if way is not None else ""
            told = {"HOLTER_RESUME": "allow", **({RESUME_FROM: place} if place else {})}
            step = f"from step {way.checkpoint.step:,}" if way is not None and way.checkpoint.step is not None else ""
            begin = f"{step} ({place})" if place else "from the beginning, for there is no whole checkpoint"
            soon = f"attempt {number + 1} of {retry.times + 1} in {wait_s:g} s"
            voice.warn(f"retry {number}", f"{soon}, after {death.cause}, {begin.strip()}")
            if not child.sleep(wait_s):
                return code


def _load(run: str, data: str) -> LoadedRun | None:
    try:
        return inquire(Catalog(data, read_lateness(os.environ)).load(run))
    except (HolterError, OSError):
        return None


def _death_of(loaded: LoadedRun) -> Death:
    cause = loaded.row.cause or ""
    raised = [each for each in loaded.said(Raised) if each.where == "main"]
    if cause == EXCEPTION and raised and raised[-1].frames:
        frame = raised[-1].frames[-1]
        return Death(cause, f"{raised[-1].type} in {frame.file}:{frame.line}")
    return Death(cause, loaded.diagnosis.title if loaded.diagnosis is not None else "")


class _Child:
    """One `holter run` after the other. What ends us ends it, and then nothing is started again."""

    def __init__(self) -> None:
        self.is_asked_to_end = False
        self._process: subprocess.Popen[bytes] | None = None
        self._before: dict[int, object] = {}

    def __enter__(self) -> "_Child":
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) is not signal.SIG_IGN:
                self._before[number] = signal.signal(number, self._pass_on)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)  # type: ignore[arg-type]  # what it gave us

    def run(self, arguments: Sequence[str], environ: dict[str, str]) -> int:
        command = [sys.executable, "-P", "-m", "holter", "run", *arguments]
        self._process = subprocess.Popen(command, env=environ)
        code = self._process.wait()
        return code if code >= 0 else 128 - code

    def sleep(self, seconds: float) -> bool:
        """False where somebody wants us to end meanwhile."""
        until = time.monotonic() + seconds
        while not self.is_asked_to_end and time.monotonic() < until:
            time.sleep(min(0.2, seconds))
        return not self.is_asked_to_end

    def _pass_on(self, number: int, _: object) -> None:
        self.is_asked_to_end = True
        # Ctrl-C reaches all processes of a terminal by itself.
        if self._process is not None and not (number == signal.SIGINT and sys.stdin is not None and sys.stdin.isatty()):
            self._process.send_signal(number)
