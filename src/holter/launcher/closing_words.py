"""What is said when the command has ended: how, after how long, and where to look."""

import time

from holter.catalog.run_view import RunView, load_run
from holter.errors import JournalError
from holter.model.state import FINISHED, Lateness
from holter.recording.voice import Voice


def say_how_it_ended(directory: str, voice: Voice) -> None:
    """Two lines; with `quiet` only the first, and that only for what did not finish."""
    try:
        loaded = load_run(directory, now_ns=time.time_ns(), lateness=Lateness())
    except (JournalError, OSError):
        return  # whoever asks for the run will be told
    if loaded is None:
        return
    view = loaded.view
    if view.state == FINISHED:
        voice.tell(f"{view.name} finished {_figures(view)}; `holter show {view.id}`")
        return
    voice.warn("end", f"{view.name} {view.state} {_figures(view)}: {loaded.outcome.because}")
    voice.tell(f"`holter why {view.id}` tells what is known, `holter show {view.id}` shows the run")


def _figures(view: RunView) -> str:
    rows = f" with {view.rows:,} row{'' if view.rows == 1 else 's'}" if view.rows else ""
    return f"after {view.duration_s:,.1f} s{rows}"
