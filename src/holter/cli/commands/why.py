"""Tell how a run ended and how that is known.

The JSON has `cause`, null for a run that finished or still runs, and `unknown` where no cause can be named.
"""

import argparse
from collections.abc import Container, Iterable, Iterator
from typing import Any

import msgspec

from holter.catalog.run_view import PROGRAM, LoadedRun
from holter.cli.choice import load_chosen
from holter.cli.figures import clean, moment, plural, wait_status
from holter.cli.parser import add_json, add_run
from holter.cli.report import SOURCES, headline
from holter.cli.stdout import Look, look, print_json
from holter.journal.digest import Digest
from holter.model.records import Beat, Exited, Finished, Marked, Preempting, Raised, Record, Signalled
from holter.model.state import FINISHED, RUNNING, signal_name

GROUP = "explain"

TRACEBACK_LINES = 8
NOBODY_THERE = {
    "what": "exit status",
    "because": "the process was gone when somebody looked, and its sidecar was not there to read it",
    "remedy": "let the sidecar outlive the program: do not end the whole job, session or container at once",
}
OUT_OF_SIGHT = {
    "what": "exit status",
    "because": "the process ran on a machine or in a container that can't be looked into from here",
    "remedy": "run `holter why` there; what it finds is written down for all",
}


class Evidence(msgspec.Struct, frozen=True):
    """One fact: who says so, when it happened (seconds since 1970), what it was."""

    source: str
    at: float
    text: str


def prepare_parser(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    add_run(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Print the verdict."""
    loaded = load_chosen(args.run)
    if args.json:
        print_json(as_json(loaded))
    else:
        print("\n".join(as_lines(loaded, look())))
    return 0


def as_json(loaded: LoadedRun) -> dict[str, Any]:
    """The verdict in the form that programs rely on."""
    view = loaded.view
    return {
        "run": view.id,
        "state": view.state,
        "cause": view.cause,
        "confidence": 0.0,
        "candidates": [],
        "title": f"{view.name} {_verb(view.state)}: {loaded.outcome.because}",
        "evidence": evidence(loaded),
        "advice": [],
        "contributing": [],
        "ruled_out": [],
        "not_observable": not_observable(loaded),
    }


def as_lines(loaded: LoadedRun, seen: Look) -> list[str]:
    """The verdict for people."""
    view = loaded.view
    lines = [f"{seen.paint(clean(view.name), 'bold')} ({view.id})  {headline(loaded, seen)}", ""]
    if view.cause is not None:
        lines += [f"  cause: {view.cause}", ""]
    found = evidence(loaded)
    width = max((len(each.source) for each in found), default=0)
    lines += [f"  {moment(each.at)}  {each.source:<{width}}  {clean(each.text)}" for each in found]
    lines += [f"  not seen: the {each['what']}; {each['because']}" for each in not_observable(loaded)]
    for raised in _raised(loaded)[-1:]:
        lines += ["", *(f"  {clean(line)}" for line in raised.traceback.rstrip().splitlines()[-TRACEBACK_LINES:])]
    return lines


def evidence(loaded: LoadedRun) -> list[Evidence]:
    """What the witnesses of the newest attempt said about its end, in the order of time."""
    programs = {each.journal: each for each in loaded.digests if _is_of_newest_attempt(each, loaded)}
    found = [*_last_row(loaded), *_last_beat(loaded), *_words_of_the_program(programs.values())]
    found += [_exit(record) for record in _exits(loaded, programs)]
    found += [
        Evidence("person", record.at_ns / 1e9, f"{record.by} marked it {record.state or 'as it was'}: {record.reason}")
        for record in loaded.said(Marked)
    ]
    return sorted(found, key=lambda each: each.at)


def not_observable(loaded: LoadedRun) -> list[dict[str, str]]:
    """What could not be looked at, why, and how to make it so."""
    outcome = loaded.outcome
    if outcome.state in (RUNNING, FINISHED) or outcome.status is not None or loaded.said(Finished):
        return []
    return [NOBODY_THERE if outcome.is_final else OUT_OF_SIGHT]


def _verb(state: str) -> str:
    return f"is {state}" if state == RUNNING else state if state != "preempted" else "was preempted"


def _last_row(loaded: LoadedRun) -> Iterator[Evidence]:
    view = loaded.view
    if view.last_row_at is not None:
        text = f"the last row is for step {view.last_step}; {plural(view.rows, 'row')} kept"
        yield Evidence("journal", view.last_row_at, text)


def _last_beat(loaded: LoadedRun) -> Iterator[Evidence]:
    beats = [each.beat for each in loaded.digests if isinstance(each.beat, Beat) and each.beat.pids]
    if beats:
        last = max(beats, key=lambda beat: beat.at_ns)
        yield Evidence("sidecar", last.at_ns / 1e9, f"its last heartbeat: {_named(last.pids)} alive")


def _named(pids: tuple[int, ...]) -> str:
    return f"process {pids[0]} is" if len(pids) == 1 else f"processes {', '.join(map(str, pids))} are"


def _is_of_newest_attempt(each: Digest, loaded: LoadedRun) -> bool:
    return each.opened.writer in PROGRAM and each.opened.attempt == loaded.view.attempt


def _words_of_the_program(programs: Iterable[Digest]) -> Iterator[Evidence]:
    for record in (record for each in programs for record in each.said):
        if text := _words(record):
            yield Evidence("program", record.at_ns / 1e9, text)


def _words(record: Record) -> str:
    match record:
        case Raised(where="main"):
            return f"uncaught {record.type}: {record.message}".rstrip(": ")
        case Signalled():
            return f"it got {signal_name(record.signal)}"
        case Preempting():
            return "it said that it is being preempted"
        case Finished(how="atexit"):
            return "the interpreter shut down by itself"
        case Finished():
            return f"it ended the run with exit code {record.exit_code or 0}"
    return ""


def _raised(loaded: LoadedRun) -> list[Raised]:
    programs = [each for each in loaded.digests if _is_of_newest_attempt(each, loaded)]
    found = [record for each in programs for record in each.said if isinstance(record, Raised)]
    return sorted((each for each in found if each.where == "main"), key=lambda each: each.at_ns)


def _exits(loaded: LoadedRun, programs: Container[str]) -> list[Exited]:
    """One word on each process, the best that there is: a command under `holter run` may have several witnesses."""
    found = [record for record in loaded.said(Exited) if record.journal in programs]
    best = sorted(found, key=lambda record: (record.status is not None, record.source == "wait"))
    return list({record.pid: record for record in best}.values())


def _exit(record: Exited) -> Evidence:
    how = SOURCES.get(record.source, record.source)
    if record.status is None:
        return Evidence(record.source, record.at_ns / 1e9, f"process {record.pid} is gone: {how}")
    return Evidence(record.source, record.at_ns / 1e9, f"process {record.pid}: {wait_status(record.status)}; {how}")
