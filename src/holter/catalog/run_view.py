"""A run as people ask for it, put together from all of its journals."""

import os
from collections.abc import Container
from typing import Any

import msgspec

from holter.catalog.space import writer_of
from holter.journal.digest import Digest, digest
from holter.journal.rundir import list_segments
from holter.model.records import (
    Described,
    Exited,
    Facts,
    Finished,
    Launched,
    Marked,
    Preempting,
    Raised,
    Record,
    Signalled,
)
from holter.model.state import Lateness, Outcome, Witness, settle, settle_process
from holter.probes.identity import ProcessIdentity, is_alive

# The journal of `holter watch` speaks for the process that it was told to watch: its `Opened` names that process.
MAIN = ("client", "watch", "launcher")
"""Writers whose end is the end of the run."""
PROGRAM = (*MAIN, "worker")
SIDECAR_STARTS_WITHIN_NS = 5_000_000_000


class RunView(msgspec.Struct, kw_only=True):
    """What `holter ls --json` prints for a run; the names are a promise."""

    id: str
    name: str
    project: str
    state: str
    cause: str | None
    started_at: float
    ended_at: float | None
    duration_s: float
    steps: int
    summary: dict[str, Any]
    config: dict[str, Any]
    host: str
    rows: int = 0
    last_step: int | None = None
    last_row_at: float | None = None
    is_stale: bool = False
    entity: str = ""
    group: str = ""
    job_type: str = ""
    notes: str = ""
    tags: tuple[str, ...] = ()
    attempt: int = 1
    directory: str = ""


class LoadedRun(msgspec.Struct, kw_only=True):
    """A run with all that its journals say, for `show` and `why`."""

    view: RunView
    outcome: Outcome
    digests: list[Digest]
    facts: dict[str, Any]
    is_settled: bool
    """All of its processes have ended: whatever is added from now on is another attempt, or a person's word."""

    def said(self, kind: type[Record]) -> list[Any]:
        """All records of a kind, in the order of their times."""
        found = [record for each in self.digests for record in each.said if isinstance(record, kind)]
        return sorted(found, key=lambda record: record.at_ns)


def load_run(directory: str, *, now_ns: int, lateness: Lateness, is_patient: bool = True) -> LoadedRun | None:
    """Read a run's directory; None where nothing whole was ever written there. Raises NewerJournal, OSError.

    A process that has just gone, and whose sidecar is about to say how, counts as running while `is_patient`.
    """
    found = [each for journal, paths in list_segments(directory).items() if (each := digest(journal, paths))]
    digests = sorted(found, key=lambda each: (each.opened.at_ns, each.journal))
    programs = [each for each in digests if each.opened.writer in PROGRAM]
    if not programs:
        return None
    awaited = {each.journal for each in awaited_processes(digests, now_ns)} if is_patient else set()
    seen = witnesses(digests, awaited)
    outcome = settle(seen, _said(digests, Marked), now_ns=now_ns, lateness=lateness)
    view = _view(directory, programs, outcome=outcome, now_ns=now_ns)
    have_ended = all(settle_process(each, now_ns=now_ns, lateness=lateness).is_final for each in seen)
    is_settled = have_ended and not _may_hear_more(digests, seen)
    return LoadedRun(view=view, outcome=outcome, digests=digests, facts=merged_facts(digests), is_settled=is_settled)


def witnesses(digests: list[Digest], awaited: Container[str] = ()) -> list[Witness]:
    """The processes of the newest attempt; of the awaited ones nobody can say yet whether they are alive.

    Those that recorded inside a command under `holter run` are with that command.
    """
    exits = _exits(digests)
    newest = newest_clients(digests)
    seen = {
        each.journal: _witness(
            each,
            exits.get(each.journal),
            is_alive=None if each.journal in awaited else is_alive(process_of(each)),
            last_seen_ns=last_seen_ns(each, digests),
        )
        for each in newest
    }
    joined: dict[str, list[Witness]] = {}
    for each in newest:
        if each.opened.launcher in seen:
            joined.setdefault(each.opened.launcher, []).append(seen[each.journal])
    return [
        msgspec.structs.replace(seen[each.journal], joined=tuple(joined.get(each.journal, ())))
        for each in newest
        if each.opened.launcher not in seen
    ]


def process_of(each: Digest) -> ProcessIdentity:
    """The process whose end a journal speaks of: the one that writes it, or the command that a launcher started."""
    writer = writer_of(each.opened)
    for record in each.said:
        if isinstance(record, Launched):
            return msgspec.structs.replace(writer, pid=record.pid, started=record.process_started)
    return writer


def last_seen_ns(each: Digest, digests: list[Digest]) -> int:
    """When a process last wrote, or a sidecar last saw it alive."""
    here = [other for other in digests if other.opened.host == each.opened.host]
    beats = [other.beat.at_ns for other in here if other.beat and process_of(each).pid in other.beat.pids]
    return max([each.opened.at_ns, each.last_at_ns, *beats])


def newest_clients(digests: list[Digest]) -> list[Digest]:
    """The journals of the processes that make up the newest attempt."""
    clients = [each for each in digests if each.opened.writer in MAIN]
    newest = max((each.opened.attempt for each in clients), default=0)
    return [each for each in clients if each.opened.attempt == newest]


def unexplained_processes(digests: list[Digest]) -> list[Digest]:
    """Those that are gone, did not end the run themselves, and of whom nobody has written down how they went."""
    exits = _exits(digests)
    return [
        each
        for each in newest_clients(digests)
        if each.journal not in exits
        and not any(isinstance(record, Finished) and record.how != "atexit" for record in each.said)
        and is_alive(process_of(each)) is False
    ]


def awaited_processes(digests: list[Digest], now_ns: int) -> list[Digest]:
    """Those of the unexplained ones for which a sidecar is there, or may still be starting."""
    sidecars = [each for each in digests if each.opened.writer == "sidecar"]
    if any(is_alive(writer_of(each.opened)) for each in sidecars):
        return unexplained_processes(digests)
    young = [each for each in unexplained_processes(digests) if now_ns - each.opened.at_ns < SIDECAR_STARTS_WITHIN_NS]
    return [each for each in young if not any(other.opened.at_ns > each.opened.at_ns for other in sidecars)]


def _exits(digests: list[Digest]) -> dict[str, Exited]:
    """The best word on each process: one with a status beats one without."""
    found = sorted(_said(digests, Exited), key=lambda record: (record.status is not None, record.at_ns))
    exits = {record.journal: record for record in found}
    # Who waited for a command knows how it ended, also where the command records by itself.
    commands = {process_of(each): exits.get(each.journal) for each in digests if _is_command(each)}
    for each in digests:
        known = exits.get(each.journal)
        waited = commands.get(writer_of(each.opened))
        if waited is not None and (known is None or known.status is None):
            exits[each.journal] = waited
    return exits


def _is_command(each: Digest) -> bool:
    return each.opened.writer == "launcher" and process_of(each) != writer_of(each.opened)


def _witness(each: Digest, exited: Exited | None, *, is_alive: bool | None, last_seen_ns: int) -> Witness:
    said = {type(record): record for record in each.said if not (isinstance(record, Raised) and record.where != "main")}
    finished, raised = said.get(Finished), said.get(Raised)
    return Witness(
        pid=process_of(each).pid,
        rank=each.opened.rank,
        began_ns=each.opened.at_ns,
        last_seen_ns=last_seen_ns,
        is_alive=is_alive,
        finished=finished if isinstance(finished, Finished) else None,
        raised=raised if isinstance(raised, Raised) else None,
        exited=exited,
        was_terminated=Signalled in said,
        was_preempted=Preempting in said,
    )


def _may_hear_more(digests: list[Digest], seen: list[Witness]) -> bool:
    """Whether somebody is alive who may add to a file that is there: a worker its rows, a sidecar an exit status."""
    has_gaps = any(each.finished is None and (each.exited is None or each.exited.status is None) for each in seen)
    writers = {"worker", "sidecar"} if has_gaps else {"worker"}
    return any(each.opened.writer in writers and is_alive(writer_of(each.opened)) for each in digests)


def merged_facts(digests: list[Digest]) -> dict[str, Any]:
    """What sidecars found, of several the newest word on each matter."""
    facts: dict[str, Any] = {}
    for record in _said(digests, Facts):
        facts |= record.facts
    return facts


def _said(digests: list[Digest], kind: type[Record]) -> list[Any]:
    found = [record for each in digests for record in each.said if isinstance(record, kind)]
    return sorted(found, key=lambda record: record.at_ns)


def _view(directory: str, programs: list[Digest], *, outcome: Outcome, now_ns: int) -> RunView:
    described = described_as(programs)
    opened = newest_of(programs).opened
    steps = [each.highest_step for each in programs if each.highest_step is not None]
    newest = max(programs, key=lambda each: each.last_at_ns)
    started_ns = described.started_ns if described else programs[0].opened.at_ns
    end_ns = outcome.ended_at_ns or now_ns
    return RunView(
        id=os.path.basename(directory),
        name=described.name if described else opened.run,
        project=described.project if described else "",
        state=outcome.state,
        cause=None if outcome.state in ("running", "finished") else "unknown",
        started_at=started_ns / 1e9,
        ended_at=outcome.ended_at_ns / 1e9 if outcome.ended_at_ns else None,
        duration_s=round(max(0, end_ns - started_ns) / 1e9, 3),
        steps=max(steps) + 1 if steps else 0,
        summary=merged_summary(programs),
        config=merged_config(programs),
        host=opened.host,
        rows=sum(each.rows for each in programs),
        last_step=newest.last_step,
        last_row_at=max((each.last_at_ns for each in programs if each.rows), default=0) / 1e9 or None,
        is_stale=outcome.is_stale,
        attempt=opened.attempt,
        directory=directory,
        **_labels(described),
    )


def merged_config(programs: list[Digest]) -> dict[str, Any]:
    """The configuration, of several processes that of the last writer."""
    config: dict[str, Any] = {}
    for each in sorted(programs, key=lambda each: each.last_at_ns):
        config |= each.config or {}
    return config


def merged_summary(programs: list[Digest]) -> dict[str, Any]:
    """The last value of each key; values set by hand win."""
    last: dict[str, Any] = {}
    by_hand: dict[str, Any] = {}
    for each in sorted(programs, key=lambda each: each.last_at_ns):
        last |= each.last
        by_hand |= each.summary
    return last | by_hand


def described_as(programs: list[Digest]) -> Described | None:
    """What the newest attempt calls the run."""
    for each in sorted(programs, key=_newest, reverse=True):
        if each.described is not None:
            return each.described
    return None


def newest_of(programs: list[Digest]) -> Digest:
    """The journal of the newest attempt; of several the one that said last what the run is called."""
    return max(programs, key=_newest)


def _newest(each: Digest) -> tuple[int, int]:
    """By attempt first: the clock may have been set back between two of them."""
    return each.opened.attempt, each.described.at_ns if each.described else each.opened.at_ns


def _labels(described: Described | None) -> dict[str, Any]:
    if described is None:
        return {}
    return {name: getattr(described, name) for name in ("entity", "group", "job_type", "notes", "tags")}
