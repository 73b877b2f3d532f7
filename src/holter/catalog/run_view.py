"""A run as people ask for it, put together from all of its journals."""

import os
from typing import Any

import msgspec

from holter.journal.digest import Digest, digest
from holter.journal.rundir import list_segments
from holter.model.records import Described, Exited, Facts, Finished, Marked, Preempting, Raised, Record, Signalled
from holter.model.state import Lateness, Outcome, Witness, settle
from holter.probes.identity import ProcessIdentity, is_alive

PROGRAM = ("client", "worker")


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

    def said(self, kind: type[Record]) -> list[Any]:
        """All records of a kind, in the order of their times."""
        found = [record for each in self.digests for record in each.said if isinstance(record, kind)]
        return sorted(found, key=lambda record: record.at_ns)


def load_run(directory: str, *, now_ns: int, lateness: Lateness) -> LoadedRun | None:
    """Read a run's directory; None where nothing whole was ever written there. Raises NewerJournal, OSError."""
    found = [each for journal, paths in list_segments(directory).items() if (each := digest(journal, paths))]
    digests = sorted(found, key=lambda each: (each.opened.at_ns, each.journal))
    programs = [each for each in digests if each.opened.writer in PROGRAM]
    if not programs:
        return None
    outcome = settle(witnesses(digests), _said(digests, Marked), now_ns=now_ns, lateness=lateness)
    view = _view(directory, digests, programs, outcome, now_ns)
    facts: dict[str, Any] = {}
    for record in _said(digests, Facts):
        facts |= record.facts
    return LoadedRun(view=view, outcome=outcome, digests=digests, facts=facts)


def witnesses(digests: list[Digest]) -> list[Witness]:
    """The processes of the newest attempt."""
    clients = [each for each in digests if each.opened.writer == "client"]
    newest = max((each.opened.attempt for each in clients), default=0)
    beats = [each.beat for each in digests if each.beat is not None]
    exits = {record.journal: record for record in _said(digests, Exited)}
    return [
        _witness(each, exits.get(each.journal), beats=[beat.at_ns for beat in beats if each.opened.pid in beat.pids])
        for each in clients
        if each.opened.attempt == newest
    ]


def identity_of(each: Digest) -> ProcessIdentity:
    opened = each.opened
    return ProcessIdentity(opened.host, opened.boot_id, opened.pid, opened.process_started, opened.pid_namespace)


def _witness(each: Digest, exited: Exited | None, *, beats: list[int]) -> Witness:
    said = {type(record): record for record in each.said if not (isinstance(record, Raised) and record.where != "main")}
    finished, raised = said.get(Finished), said.get(Raised)
    return Witness(
        pid=each.opened.pid,
        rank=each.opened.rank,
        last_seen_ns=max([each.opened.at_ns, each.last_at_ns, *beats]),
        is_alive=is_alive(identity_of(each)),
        finished=finished if isinstance(finished, Finished) else None,
        raised=raised if isinstance(raised, Raised) else None,
        exited=exited,
        was_terminated=Signalled in said,
        was_preempted=Preempting in said,
    )


def _said(digests: list[Digest], kind: type[Record]) -> list[Any]:
    found = [record for each in digests for record in each.said if isinstance(record, kind)]
    return sorted(found, key=lambda record: record.at_ns)


def _view(directory: str, digests: list[Digest], programs: list[Digest], outcome: Outcome, now_ns: int, /) -> RunView:
    described = _described(programs)
    opened = programs[-1].opened
    summary: dict[str, Any] = {}
    config: dict[str, Any] = {}
    by_hand: dict[str, Any] = {}
    for each in sorted(programs, key=lambda each: each.last_at_ns):
        summary |= each.last
        config |= each.config or {}
        by_hand |= each.summary
    steps = [each.last_step for each in programs if each.last_step is not None]
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
        summary=summary | by_hand,
        config=config,
        host=opened.host,
        rows=sum(each.rows for each in programs),
        last_step=max(steps, default=None),
        is_stale=outcome.is_stale,
        attempt=opened.attempt,
        directory=directory,
        **_labels(described),
    )


def _described(programs: list[Digest]) -> Described | None:
    found = [each.described for each in programs if each.described is not None]
    return max(found, key=lambda described: described.at_ns, default=None)


def _labels(described: Described | None) -> dict[str, Any]:
    if described is None:
        return {}
    return {name: getattr(described, name) for name in ("entity", "group", "job_type", "notes", "tags")}
