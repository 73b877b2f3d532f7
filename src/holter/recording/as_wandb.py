"""Has the Python of a command know holter from its start, without a line of the program."""

import os
from collections.abc import Mapping, MutableMapping, Sequence

from holter.recording.settings import is_on

VARIABLE = "HOLTER_AS_WANDB"
KNOWN = "HOLTER_KNOWN"
"""Python imports holter when it starts."""


def is_asked_for(environ: Mapping[str, str]) -> bool:
    """Whether the environment says so."""
    return is_on(environ.get(VARIABLE, ""))


def answer_as_wandb(environ: MutableMapping[str, str]) -> None:
    """Set what the command inherits."""
    environ[VARIABLE] = "1"
    _start_with(environ)


def is_named(command: Sequence[str], environ: Mapping[str, str]) -> bool:
    """Whether a command asks a framework for holter, as `--report_to holter` does, or everything is to be recorded."""
    return is_on(environ.get("HOLTER_AUTOLOG", "")) or any(
        word == "holter" or word.endswith(("=holter", ",holter")) for word in command[1:]
    )


def be_known(environ: MutableMapping[str, str]) -> None:
    """Set what the command inherits, so that frameworks know holter by its name."""
    environ[KNOWN] = "1"
    _start_with(environ)


def _start_with(environ: MutableMapping[str, str]) -> None:
    start = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "wandb_door", "start")
    # Python looks into that folder first when it starts, and then into the user's.
    others = [path for path in environ.get("PYTHONPATH", "").split(os.pathsep) if path and path != start]
    environ["PYTHONPATH"] = os.pathsep.join([start, *others])
