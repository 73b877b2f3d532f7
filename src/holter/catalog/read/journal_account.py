"""What the journals of a run say about its end, for runs about which no rule has more to say. Pure."""

import os
from collections.abc import Container, Iterable, Iterator

from holter.catalog.read.loaded_run import PROGRAM, LoadedRun
from holter.journal.digest import Digest
from holter.model.record import Record
from holter.model.records import Beat, Exited, Finished, Preempting, Raised, Signalled
from holter.model.state import signal_name
from holter.model.verdicts import Fact

SOURCES = {
    "pidfd-info": "Linux told the sidecar",
    "zombie-stat": "the sidecar read it in /proc",
    "connector": "Linux announced it to the sidecar",
    "wait": "its parent waited for it",
    "gone": "nobody was there to read its exit status",
}
"""How an exit status was learnt, by the word that stands in the journal."""


def facts_of(loaded: LoadedRun) -> list[Fact]:
    """What the witnesses of the newest attempt said about its end, in the order of time."""
    programs = {each.journal: each for each in loaded.digests if _is_of_newest_attempt(each, loaded)}
    found = [*_last_row(loaded), *_last_beat(loaded), *_words_of_the_program(programs.values())]
    found += [_exit(record) for record in _exits(loaded, programs)]
    return sorted(found, key=lambda each: each.at)


def _last_row(loaded: LoadedRun) -> Iterator[Fact]:
    row = loaded.row
    if row.last_row_at is not None:
        text = f"the last row is for step {row.last_step}; {row.rows:,} row{'' if row.rows == 1 else 's'} kept"
        yield Fact("journal", row.last_row_at, text)


def _last_beat(loaded: LoadedRun) -> Iterator[Fact]:
    beats = [each.beat for each in loaded.digests if isinstance(each.beat, Beat) and each.beat.pids]
    if beats:
        last = max(beats, key=lambda beat: beat.at_ns)
        yield Fact("sidecar", last.at_ns / 1e9, f"its last heartbeat: {_named(last.pids)} alive")


def _named(pids: tuple[int, ...]) -> str:
    return f"process {pids[0]} is" if len(pids) == 1 else f"processes {', '.join(map(str, pids))} are"


def _is_of_newest_attempt(each: Digest, loaded: LoadedRun) -> bool:
    return each.opened.writer in PROGRAM and each.opened.attempt == loaded.row.attempt


def _words_of_the_program(programs: Iterable[Digest]) -> Iterator[Fact]:
    for record in (record for each in programs for record in each.said):
        if text := _words(record):
            yield Fact("program", record.at_ns / 1e9, text)


def _words(record: Record) -> str:
    match record:
        case Raised(where="main"):
            return f"uncaught {record.type}: {record.message}".rstrip(": ")
        case Signalled():
            return f"it got {signal_name(record.signal)}"
        case Preempting():
            return "it said that it was being preempted"
        case Finished(how="atexit"):
            return "the interpreter shut down normally"
        case Finished(how="_exit"):
            return f"it called os._exit({record.exit_code or 0})"
        case Finished():
            return f"it ended the run with exit code {record.exit_code or 0}"
    return ""


def _exits(loaded: LoadedRun, programs: Container[str]) -> list[Exited]:
    """One word on each process, the best that there is: a command under `holter run` may have several witnesses."""
    found = [record for record in loaded.said(Exited) if record.journal in programs]
    best = sorted(found, key=lambda record: (record.status is not None, record.source == "wait"))
    return list({record.pid: record for record in best}.values())


def _exit(record: Exited) -> Fact:
    how = SOURCES.get(record.source, record.source)
    if record.status is None:
        return Fact(record.source, record.at_ns / 1e9, f"process {record.pid} is gone: {how}")
    return Fact(record.source, record.at_ns / 1e9, f"process {record.pid}: {wait_status(record.status)}; {how}")


def wait_status(status: int) -> str:
    """A wait status in words: `exit code 3`, `SIGKILL (signal 9)`."""
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        return f"{signal_name(number)} (signal {number}{', core dumped' if os.WCOREDUMP(status) else ''})"
    return f"exit code {os.WEXITSTATUS(status)}"
