"""Says once what is different from W&B: as a remark of the active run, or in the terminal where there is none."""

import os

from holter.recording.settings import is_on
from holter.recording.voice import Voice

_voice: Voice | None = None


def voice() -> Voice:
    """The door's own voice, as loud as the environment wants it."""
    global _voice
    if _voice is None:
        silent = os.environ.get("HOLTER_SILENT") or os.environ.get("WANDB_SILENT") or ""
        quiet = os.environ.get("HOLTER_QUIET") or os.environ.get("WANDB_QUIET") or ""
        _voice = Voice(silent=is_on(silent), quiet=is_on(quiet))
    return _voice


def say(cause: str, text: str) -> None:
    """One sentence, once for each cause."""
    from holter.client import active  # the door may be asked before there is a client

    run = active.current()
    if run is not None and run.dir:
        run.remark(text)
    else:
        voice().warn(cause, text)
