"""From which checkpoint a run that ended can go on, and what to type for it."""

import shlex
from typing import Any

import msgspec

from holter.artifacts.checkpoints import Checkpoint, checkpoints_of, last_whole
from holter.catalog.read.loaded_run import LoadedRun
from holter.catalog.read.resuming import is_notebook, resume_command
from holter.model.record import Record


class WayOn(msgspec.Struct, frozen=True):
    """The checkpoint to go on from, and how."""

    checkpoint: Checkpoint
    command: str
    """Empty where nobody knows how the run was started."""
    passed_over: tuple[Checkpoint, ...] = ()
    """Newer ones that are torn or gone."""


def checkpoints_in(loaded: LoadedRun, *, is_here: bool = True) -> list[Checkpoint]:
    """All checkpoints that are known of it, oldest first; as their writers left them where these were elsewhere."""
    return checkpoints_of(loaded.said(Record), loaded.row.directory, is_here=is_here)


def way_on(loaded: LoadedRun, *, is_here: bool = True) -> WayOn | None:
    """None where there is no whole checkpoint."""
    found = checkpoints_in(loaded, is_here=is_here)
    if (best := last_whole(found)) is None:
        return None
    newer = [each for each in found if each.trouble and (each.step or 0) > (best.step or 0)]
    return WayOn(best, _command(loaded, best), tuple(newer))


def command_to_go_on(loaded: LoadedRun, *, is_here: bool = True) -> str:
    """What to type for another attempt, from the last whole checkpoint where there is one."""
    way = way_on(loaded, is_here=is_here)
    return way.command if way is not None else resume_command(loaded.row.id, loaded.command, facts=loaded.facts)


def _command(loaded: LoadedRun, best: Checkpoint) -> str:
    command = resume_command(loaded.row.id, loaded.command, facts=loaded.facts)
    if not command or not best.path or is_notebook({**loaded.facts, "command": loaded.command}):
        return command
    return f"HOLTER_RESUME_FROM={shlex.quote(best.path)} {command}"


def as_json(way: WayOn | None) -> dict[str, Any] | None:
    """For programs."""
    if way is None:
        return None
    return {
        "step": way.checkpoint.step,
        "path": way.checkpoint.path or None,
        "artifact": way.checkpoint.artifact or None,
        "at": way.checkpoint.at_ns / 1e9,
        "saver": way.checkpoint.saver or None,
        "command": way.command or None,
        "passed_over": [{"step": each.step, "path": each.path, "because": each.trouble} for each in way.passed_over],
    }
