"""What an integration needs of the client: the run that it records into, and the boundary before its framework."""

import functools
import os
from collections.abc import Callable, Mapping
from typing import Any, ParamSpec, TypeVar

from holter.client import active
from holter.client.opening import init
from holter.client.run import Run
from holter.errors import UsageError, is_strict
from holter.recording.attempt import identify_here
from holter.recording.settings import read_settings
from holter.recording.voice import Voice

__all__ = ["Run", "add_config", "is_first_rank", "join_run", "name_checkpoint", "run_here", "unraised"]

P = ParamSpec("P")
R = TypeVar("R")

_RANKS = ("RANK", "SLURM_PROCID", "LOCAL_RANK")
_voice = Voice()


def run_here(**asked: Any) -> Run:
    """The active run, or a new one, which ends with the program: a second `fit()` goes on in it. Raises UsageError."""
    return active.current() or init(**asked)


def join_run(**asked: Any) -> Run | None:
    """The same for a process that is one of several: in all but the first, None where it would be a run of its own.

    Those that share a run (torchrun, SLURM, `HOLTER_RUN_ID`) record what they print and how they die, and no metrics.
    """
    if not is_first_rank() and active.current() is None:
        chosen = read_settings({}, os.environ).run_id
        if not identify_here(chosen, os.environ).is_shared:
            return None
    return run_here(**asked)


def is_first_rank() -> bool:
    """Whether this process is the only one, or the first of several."""
    given = next((os.environ[name] for name in _RANKS if os.environ.get(name)), "0")
    return given == "0"


def name_checkpoint(run: Run, path: Any, *, step: int) -> None:
    """Keep where the newest checkpoint lies, and of which step it is; the framework's file is the only copy."""
    run.checkpoint(path, int(step), artifact=False)
    run.summary.update({"checkpoint": os.path.abspath(os.fspath(path)), "checkpoint_step": int(step)})


def add_config(run: Run, values: Mapping[str, Any]) -> None:
    """Add what a framework was set to; what the program said itself stays."""
    run.config.setdefaults(values)


def unraised(callback: Callable[P, R]) -> Callable[P, R | None]:
    """Make a callback of a framework say its own failure instead of raising it into the training.

    What the user can mend is raised while the training begins: a wrong setting of the run that it opens.
    """

    @functools.wraps(callback)
    def guarded(*args: P.args, **kwargs: P.kwargs) -> R | None:
        try:
            return callback(*args, **kwargs)
        except UsageError:
            raise
        except Exception as error:  # noqa: BLE001  the boundary
            _report(callback.__qualname__, error)
            return None

    return guarded


def _report(doing: str, error: Exception) -> None:
    if (run := active.current()) is not None:
        run.report(doing, error)
    elif is_strict():
        raise error
    else:
        _voice.warn(f"{doing}:{type(error).__name__}", f"{doing} failed ({error}): it is not recorded")
