"""`init(resume_from=…)` goes back to a step of a run, `init(fork_from=…)` begins another run from there."""

import os
import re
from collections.abc import Mapping
from typing import Any

import msgspec

from holter.errors import NewerJournal, UsageError
from holter.journal.rewinding import FORK, REWIND, History, history_at
from holter.journal.rundir import run_directory
from holter.model.artifact_records import WentOn
from holter.recording.attempt import Attempt
from holter.recording.past import recall
from holter.recording.settings import Settings

_MOMENT = re.compile(r"([^?]+)\?_step=(\d{1,18})")


class Back(msgspec.Struct, frozen=True):
    """What was found there: the record that says so, and what the rows up to it add up to."""

    record: WentOn
    history: History


class Moment(msgspec.Struct, frozen=True):
    """A step of a run, and what is to begin there: `how` is `rewind` or `fork`."""

    run: str
    step: int
    how: str

    @property
    def argument(self) -> str:
        """By which it was asked for."""
        return "fork_from" if self.how == FORK else "resume_from"

    def settings(self, chosen: Settings) -> Settings:
        """The settings of a run that begins there. Raises UsageError for what does not go together."""
        if chosen.sources.get("resume") == "an argument" and chosen.resume:
            raise UsageError(f"{self.argument} and resume can't be given together: leave resume out")
        has_id = chosen.sources.get("run_id") == "an argument"
        if self.how == FORK:
            if has_id and chosen.run_id == self.run:
                raise UsageError(f"fork_from makes another run than {self.run!r}: give it another id, or none")
            return msgspec.structs.replace(chosen, resume="")
        if has_id and chosen.run_id != self.run:
            raise UsageError(f"resume_from goes back in run {self.run!r}, and id is {chosen.run_id!r}: leave id out")
        return msgspec.structs.replace(chosen, run_id=self.run, resume="must")

    def begin(self, attempt: Attempt, environ: Mapping[str, str]) -> Back | None:
        """Have the attempt begin there; None where it goes on as any other. Raises UsageError.

        A command that is started again after a death goes on where it was: what it did since is not abandoned.
        """
        history = _fork(attempt, self) if self.how == FORK else _go_back(attempt, self, environ)
        if history is None:
            return None
        attempt.past.last, attempt.past.next_step = history.values(), self.step + 1
        now_ns = attempt.clock.now_ns()
        return Back(WentOn(at_ns=now_ns, run=self.run, step=self.step, how=self.how, since_ns=now_ns), history)


def read_moment(given: Mapping[str, Any]) -> Moment:
    """What `resume_from` or `fork_from` asks for. Raises UsageError."""
    asked = {name: text for name, text in given.items() if text}
    if len(asked) > 1:
        raise UsageError("resume_from goes back in a run, and fork_from begins another one: give one of them")
    [(name, text)] = asked.items()
    match = _MOMENT.fullmatch(text) if isinstance(text, str) else None
    if match is None:
        raise UsageError(f"{name} must name a run and a step of it, such as 'x1y2z3a4?_step=1200'; got {text!r}")
    return Moment(match[1], int(match[2]), REWIND if name == "resume_from" else FORK)


def _go_back(attempt: Attempt, moment: Moment, environ: Mapping[str, str]) -> History | None:
    past, asked = attempt.past, environ.get("HOLTER_ATTEMPT", "")
    if attempt.restarts or (asked.isdigit() and int(asked) > 1):
        return None
    is_same = past.went_on is not None and (past.went_on.how, past.went_on.step) == (REWIND, moment.step)
    if past.is_alive and not is_same:
        raise UsageError(
            f"run {moment.run} is still running: end it before resume_from goes back in it, or use fork_from"
        )
    # Another rank of this start was here first.
    is_joining = is_same and (past.is_alive or attempt.rank is not None)
    attempt.number = past.attempts + (0 if is_joining else 1)
    return _history(attempt, moment, comes_to=None if is_joining else past.next_step - 1)


def _fork(attempt: Attempt, moment: Moment) -> History | None:
    past = attempt.past
    if past.has_history:
        if past.forked is None or (past.forked.run, past.forked.step) != (moment.run, moment.step):
            raise UsageError(
                f"run {attempt.run} exists, and is no fork of {moment.run} at step {moment.step}: choose another id"
            )
        return None
    directory = run_directory(attempt.settings.dir, moment.run)
    parent = recall(directory, attempt.process)
    if not parent.has_history:
        raise UsageError(f"there is no run {moment.run} in {directory} to fork: check the id and HOLTER_DIR")
    past.config = parent.config
    if parent.described is not None and "project" not in attempt.settings.sources:
        attempt.settings = msgspec.structs.replace(attempt.settings, project=parent.described.project)
    return _history(attempt, moment, comes_to=parent.next_step - 1)


def _history(attempt: Attempt, moment: Moment, *, comes_to: int | None) -> History:
    if comes_to is not None and moment.step > comes_to:
        come = f"has come to step {comes_to}" if comes_to >= 0 else "has no steps"
        raise UsageError(f"{moment.argument} asks for step {moment.step}, and run {moment.run} {come}")
    try:
        return history_at(lambda run: run_directory(attempt.settings.dir, run), moment.run, step=moment.step)
    except (NewerJournal, OSError) as error:
        raise UsageError(f"can't read run {moment.run} in {os.fspath(attempt.settings.dir)}: {error}") from error
