"""What is said when the command has ended: how, why, what to do about it, and where to look."""

import os
import time
from collections.abc import Collection

from holter.catalog.judge.verdict import judge
from holter.catalog.read.run_view import LoadedRun, awaited_evidence, load_run, newest_clients
from holter.errors import JournalError
from holter.model.records import ChildExited, Exited
from holter.model.run_row import RunRow
from holter.model.state import FINISHED, Lateness
from holter.probes.schedulers import is_scheduled
from holter.recording.login import rows_in_words
from holter.recording.voice import Voice
from holter.wire.way_back import OnServer

# The sidecar asks the kernel and the scheduler: the shell must not wait long for that.
PATIENCE_S = 1.5
# In which it has seen the death, and that of a child just before.
GLANCE_S = 0.06
# With 128 + n a shell tells of a command that signal n ended.
SHELL_CODE = 128
POLL_S = 0.02


def say_how_it_ended(directory: str, voice: Voice, on_server: Collection[OnServer] | None, /) -> None:
    """Two or three lines; with `quiet` only those of a verdict, and these only for what did not finish.

    Args:
        on_server: what is known to have reached the server by now; None where the run stays here.
    """
    try:
        loaded = _load(directory)
    except (JournalError, OSError):
        return  # whoever asks for the run will be told
    if loaded is None:
        return
    view = loaded.view
    if view.state == FINISHED:
        voice.tell(f"{view.name} finished {_figures(view, on_server)}; `holter show {view.id}`")
        return
    voice.warn("end", f"{view.name} {view.state} {_figures(view, on_server)}: {_why(loaded)}")
    for advice in loaded.diagnosis.advice[:1] if loaded.diagnosis else ():
        voice.warn("advice", f"what to do: {advice}")
    voice.tell(f"`holter why {view.id}` shows the evidence, `holter show {view.id}` the run")


def get_ready() -> None:
    """Load what only a command that does not finish needs; while it runs, that costs nobody time."""
    from holter.catalog.judge import gathering
    from holter.diagnosis import loading, ranking

    del gathering, ranking
    loading.load_rules()


def _load(directory: str) -> LoadedRun | None:
    """Wait a moment for what the sidecar finds out about a command that did not finish, where that may matter."""
    began = time.monotonic()
    while True:
        loaded = load_run(directory, now_ns=time.time_ns(), lateness=Lateness())
        if loaded is None or loaded.by_itself.state == FINISHED:
            break
        if not awaited_evidence(loaded.digests, time.time_ns()) or time.monotonic() - began > patience_s(loaded):
            break
        time.sleep(POLL_S)
    return judge(loaded) if loaded else None


def patience_s(loaded: LoadedRun) -> float:
    """An exit code and a printed exception speak for themselves; of a signal others know who sent it and why."""
    newest = newest_clients(loaded.digests)
    began_ns = min((each.opened.at_ns for each in newest), default=0)
    exits = [record for record in loaded.said(Exited) if record.at_ns >= began_ns]
    children = [record for record in loaded.said(ChildExited) if record.at_ns >= began_ns]
    statuses = [record.status for record in [*exits, *children]]
    if any(_may_hide_a_signal(status) for status in statuses) or is_scheduled(os.environ):
        return PATIENCE_S
    has_sidecar_seen_it = any(record.source != "wait" for record in exits)
    return 0.0 if has_sidecar_seen_it else GLANCE_S


def _may_hide_a_signal(status: int | None) -> bool:
    return status is not None and (os.WIFSIGNALED(status) or os.WEXITSTATUS(status) > SHELL_CODE)


def _why(loaded: LoadedRun) -> str:
    diagnosis = loaded.diagnosis
    if diagnosis is None or not diagnosis.cause:
        return loaded.outcome.because
    if diagnosis.cause == "unknown":
        return f"{loaded.outcome.because} (why is unknown)"
    return f"{diagnosis.title.rstrip('.')} ({diagnosis.cause})"


def _figures(view: RunRow, on_server: Collection[OnServer] | None) -> str:
    rows = f"{view.rows:,} row{'' if view.rows == 1 else 's'}"
    if on_server is not None:
        there, is_stuck = sum(each.rows for each in on_server), any(each.is_stuck for each in on_server)
        rows = rows_in_words(view.rows, there, run=view.id, is_stuck=is_stuck)
    return f"after {view.duration_s:,.1f} s{f' with {rows}' if view.rows else ''}"
