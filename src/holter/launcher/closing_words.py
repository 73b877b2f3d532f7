"""What is said when the command has ended: how, why, what to do about it, and where to look."""

import time

from holter.catalog.run_view import LoadedRun, RunView, awaited_evidence, load_run
from holter.catalog.verdict import judge
from holter.errors import JournalError
from holter.model.state import FINISHED, Lateness
from holter.recording.voice import Voice

# The sidecar asks the kernel and the scheduler: the shell must not wait long for that.
PATIENCE_S = 1.5
POLL_S = 0.02


def say_how_it_ended(directory: str, voice: Voice) -> None:
    """Two or three lines; with `quiet` only those of a verdict, and these only for what did not finish."""
    try:
        loaded = _load(directory)
    except (JournalError, OSError):
        return  # whoever asks for the run will be told
    if loaded is None:
        return
    view = loaded.view
    if view.state == FINISHED:
        voice.tell(f"{view.name} finished {_figures(view)}; `holter show {view.id}`")
        return
    voice.warn("end", f"{view.name} {view.state} {_figures(view)}: {_why(loaded)}")
    for advice in loaded.diagnosis.advice[:1] if loaded.diagnosis else ():
        voice.warn("advice", f"what to do: {advice}")
    voice.tell(f"`holter why {view.id}` tells what says so, `holter show {view.id}` shows the run")


def _load(directory: str) -> LoadedRun | None:
    """Wait a moment for what the sidecar finds out about a command that did not finish."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        loaded = load_run(directory, now_ns=time.time_ns(), lateness=Lateness())
        if loaded is None or loaded.by_itself.state == FINISHED:
            break
        if not awaited_evidence(loaded.digests, time.time_ns()) or time.monotonic() > deadline:
            break
        time.sleep(POLL_S)
    return judge(loaded) if loaded else None


def _why(loaded: LoadedRun) -> str:
    diagnosis = loaded.diagnosis
    if diagnosis is None or not diagnosis.cause:
        return loaded.outcome.because
    if diagnosis.cause == "unknown":
        return f"{loaded.outcome.because} (why is unknown)"
    return f"{diagnosis.title.rstrip('.')} ({diagnosis.cause})"


def _figures(view: RunView) -> str:
    rows = f" with {view.rows:,} row{'' if view.rows == 1 else 's'}" if view.rows else ""
    return f"after {view.duration_s:,.1f} s{rows}"
