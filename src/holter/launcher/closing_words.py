"""What is said when the command has ended: how, why, what to do about it, and where to look."""

import os
import time
from collections.abc import Callable, Collection

import msgspec

from holter.catalog.judge.verdict import judge
from holter.catalog.present.last_word import how_it_ended
from holter.catalog.read.loaded_run import LoadedRun, load_run, newest_clients
from holter.errors import JournalError
from holter.model.records import ChildExited
from holter.model.state import FINISHED, Lateness
from holter.probes.schedulers import is_scheduled
from holter.recording.login import rows_in_words
from holter.recording.voice import Voice
from holter.wire.way_back import HowItEnded, OnServer

# The sidecar asks Linux and the scheduler: the shell must not wait long for that.
PATIENCE_S = 1.5
# In which it has seen the death, and that of a child just before.
GLANCE_S = 0.06
# With 128 + n a shell tells of a command that signal n ended.
SHELL_CODE = 128


class Ending(msgspec.Struct, frozen=True, kw_only=True):
    """What the launcher itself knows of the end."""

    status: int
    on_server: Collection[OnServer] | None
    """What is known to have reached the server by now; None where the run stays here."""
    told: Callable[[float], HowItEnded | None]
    """Waits so many seconds for the sidecar's word."""


def say_how_it_ended(directory: str, voice: Voice, *, ending: Ending) -> None:
    """Two or three lines; with `quiet` only those of a verdict, and these only for what did not finish."""
    try:
        told = _hear(ending) or _look(directory, ending)
    except (JournalError, OSError):
        return  # whoever asks for the run will be told
    if told is None:
        return
    run = os.path.basename(directory)
    if told.state == FINISHED:
        voice.tell(f"{told.name} finished {_figures(told, run, ending)}; `holter show {run}`")
        return
    voice.warn("end", f"{told.name} {told.state} {_figures(told, run, ending)}: {told.why}")
    if told.advice:
        voice.warn("advice", f"what to do: {told.advice}")
    voice.tell(f"`holter why {run}` shows the evidence, `holter show {run}` the run")


def _hear(ending: Ending) -> HowItEnded | None:
    """What the sidecar found out. An exit code and a printed exception speak for themselves; of a signal others know
    who sent it and why."""
    if ending.status == 0:
        return None
    told = ending.told(PATIENCE_S if may_hide_a_signal(ending.status) or is_scheduled(os.environ) else GLANCE_S)
    # On a busy machine it may have looked before it heard from us how the command ended.
    return told if told is not None and told.has_status else None


def _look(directory: str, ending: Ending) -> HowItEnded | None:
    """The same from the journals, where the sidecar takes longer; unless it is to tell of a child's death too."""
    loaded = load_run(directory, now_ns=time.time_ns(), lateness=Lateness())
    if loaded is None:
        return None
    told = ending.told(PATIENCE_S) if loaded.by_itself.state != FINISHED and has_lost_a_child(loaded) else None
    return told or how_it_ended(judge(loaded))


def has_lost_a_child(loaded: LoadedRun) -> bool:
    """Whether a signal may have ended one."""
    began_ns = min((each.opened.at_ns for each in newest_clients(loaded.digests)), default=0)
    return any(may_hide_a_signal(each.status) for each in loaded.said(ChildExited) if each.at_ns >= began_ns)


def get_ready() -> None:
    """Load what only a command that does not finish needs; while it runs, that costs nobody time."""
    from holter.catalog.judge import gathering
    from holter.diagnosis import loading, ranking

    del gathering, ranking
    loading.load_rules()


def may_hide_a_signal(status: int | None) -> bool:
    """Whether a signal ended the process, or, as a shell tells it, a child of it."""
    return status is not None and (os.WIFSIGNALED(status) or os.WEXITSTATUS(status) > SHELL_CODE)


def _figures(told: HowItEnded, run: str, ending: Ending, /) -> str:
    rows = f"{told.rows:,} row{'' if told.rows == 1 else 's'}"
    if ending.on_server is not None:
        there, is_stuck = sum(each.rows for each in ending.on_server), any(each.is_stuck for each in ending.on_server)
        rows = rows_in_words(told.rows, there, run=run, is_stuck=is_stuck)
    return f"after {told.duration_s:,.1f} s{f' with {rows}' if told.rows else ''}"
