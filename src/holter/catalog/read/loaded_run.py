"""A run as people ask for it, put together from all of its journals."""

import os
import signal
from collections.abc import Container, Sequence
from typing import Any

import msgspec

from holter.catalog.read.definitions import amended, merged_aggregates, metric_definitions
from holter.catalog.read.known_facts import in_form
from holter.catalog.read.parents_wishes import add_wishes
from holter.catalog.read.warnings_of import standing_warning
from holter.journal.digest import Digest, digest
from holter.journal.rewinding import fork_of, rewinds_of
from holter.journal.rundir import list_segments
from holter.journal.signal_log import read_signal_log
from holter.model.evidence import ALL_ASKED, Caught
from holter.model.metric_definitions import summarise
from holter.model.record import Record
from holter.model.records import (
    CauseMarked,
    ChildExited,
    Described,
    Edited,
    Exited,
    Facts,
    Finished,
    Judged,
    KernelAsked,
    Launched,
    Looked,
    Marked,
    Preempting,
    Raised,
    Signalled,
)
from holter.model.run_row import Fork, Mark, RunRow
from holter.model.state import (
    FINISHED,
    RUNNING,
    Lateness,
    Outcome,
    Witness,
    last_wish,
    settle,
    settle_process,
    with_mark,
)
from holter.model.verdicts import CauseMark, Diagnosis, Explanation
from holter.probes.identity import ProcessIdentity, is_alive, writer_of

# The journal of `holter watch` speaks for the process that it was told to watch: its `Opened` names that process.
MAIN = ("client", "watch", "launcher", "provisioner")
"""Writers whose end is the end of the run."""
PROGRAM = (*MAIN, "worker")
SIDECAR_STARTS_WITHIN_NS = 5_000_000_000
ASKED_WITHIN_NS = 8_000_000_000
_LABELS = ("project", "name", "entity", "group", "job_type", "notes", "tags", "kind", "started_ns")
# Between a SIGTERM and the end of a program that handles it: time to write the largest checkpoint.
LEAVES_WITHIN_NS = 900_000_000_000


class LoadedRun(msgspec.Struct, kw_only=True):
    """A run with all that its journals say, for `show` and `why`."""

    row: RunRow
    outcome: Outcome
    digests: list[Digest]
    facts: dict[str, Any]
    is_settled: bool
    """All of its processes have ended: whatever is added from now on is another attempt, or a person's word."""
    by_itself: Outcome
    """The outcome without what people marked."""
    explanation: Explanation | None = None
    """Why it ended, and all that is told of that; None where nobody has judged it."""

    @property
    def diagnosis(self) -> Diagnosis | None:
        """Why it ended."""
        return self.explanation.diagnosis if self.explanation is not None else None

    @property
    def command(self) -> list[str]:
        """What was run, word by word; empty where nobody knows."""
        launched = [record.command for record in self.said(Launched)]
        return [str(word) for word in (launched[-1] if launched else self.facts.get("command") or ())]

    def said(self, kind: type[Record]) -> list[Any]:
        """All records of a kind, in the order of their times."""
        found = [record for each in self.digests for record in each.said if isinstance(record, kind)]
        return sorted(found, key=lambda record: record.at_ns)


def load_run(directory: str, *, now_ns: int, lateness: Lateness, is_patient: bool = True) -> LoadedRun | None:
    """Read a run's directory; None where nothing whole was ever written there. Raises NewerJournal, OSError.

    A process that has just gone, and whose sidecar is about to say how, counts as running while `is_patient`.
    """
    found = read_digests(directory)
    return put_together(directory, found, now_ns=now_ns, lateness=lateness, is_patient=is_patient)


def read_digests(directory: str) -> list[Digest]:
    """Of all journals of a run. Raises NewerJournal, OSError."""
    return [each for journal, paths in list_segments(directory).items() if (each := digest(journal, paths))]


def put_together(
    directory: str, found: Sequence[Digest], *, now_ns: int, lateness: Lateness, is_patient: bool = True
) -> LoadedRun | None:
    """The run that these journals tell of, as `load_run` has it; they stay as they are. Raises OSError."""
    copies = [msgspec.structs.replace(each, said=[*each.said]) for each in found]
    digests = sorted(copies, key=lambda each: (each.opened.at_ns, each.journal))
    caught = read_signal_log(directory).caught
    add_wishes(digests, caught)
    awaited = {each.journal for each in awaited_processes(digests, now_ns)} if is_patient else set()
    seen = witnesses(digests, awaited, handled=_handled_terms(caught))
    by_itself = settle(seen, [], now_ns=now_ns, lateness=lateness)
    outcome = with_mark(by_itself, counted_marks(digests))
    row = row_of(os.path.basename(directory), digests, directory=directory, **_ends(outcome))
    if row is None:
        return None
    duration_s = round(max(0, (outcome.ended_at_ns or now_ns) - row.started_ns) / 1e9, 3)
    have_ended = all(settle_process(each, now_ns=now_ns, lateness=lateness).is_final for each in seen)
    is_settled = have_ended and not _may_hear_more(digests, seen, is_well=by_itself.state == FINISHED)
    return LoadedRun(
        row=msgspec.structs.replace(row, duration_s=duration_s),
        outcome=outcome,
        by_itself=by_itself,
        digests=digests,
        facts=merged_facts(digests),
        is_settled=is_settled,
    )


def outcome_of_attempt(loaded: LoadedRun, number: int, *, now_ns: int, lateness: Lateness) -> Outcome:
    """How an attempt before the newest one ended. Raises OSError."""
    digests = [each for each in loaded.digests if each.opened.writer not in MAIN or each.opened.attempt == number]
    handled = _handled_terms(read_signal_log(loaded.row.directory).caught)
    return settle(witnesses(digests, handled=handled), [], now_ns=now_ns, lateness=lateness)


def witnesses(digests: list[Digest], awaited: Container[str] = (), *, handled: Sequence[Caught] = ()) -> list[Witness]:
    """The processes of the newest attempt; of the awaited ones nobody can say yet whether they are alive.

    Those that recorded inside a command under `holter run` are with that command. `handled` are the SIGTERMs that
    programs handled themselves.
    """
    exits = exits_by_journal(digests)
    newest = newest_clients(digests)
    seen = {
        each.journal: _witness(
            each,
            exits.get(each.journal),
            is_alive=None if each.journal in awaited else is_alive(process_of(each)),
            last_seen_ns=last_seen_ns(each, digests),
            terms=[caught for caught in handled if caught.pid == process_of(each).pid],
            asked=[record for record in _said(digests, KernelAsked) if record.at_ns >= each.opened.at_ns],
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
    """When a process last wrote, or a sidecar last saw it alive.

    A sidecar that measured after its last beat would have said who had gone by then.
    """
    here = [other for other in digests if other.opened.host == each.opened.host]
    watching = [other for other in here if other.beat and process_of(each).pid in other.beat.pids]
    seen = [at_ns for other in watching if other.beat for at_ns in (other.beat.at_ns, other.last_at_ns)]
    words = [record.at_ns for record in (*each.said, each.cell, each.cell_ended) if record is not None]
    return max([each.opened.at_ns, each.last_at_ns, *words, *seen])


def newest_clients(digests: list[Digest]) -> list[Digest]:
    """The journals of the processes that make up the newest attempt."""
    clients = [each for each in digests if each.opened.writer in MAIN]
    newest = max((each.opened.attempt for each in clients), default=0)
    return [each for each in clients if each.opened.attempt == newest]


def unexplained_processes(digests: list[Digest]) -> list[Digest]:
    """Those that are gone, did not end the run themselves, and of whom nobody has written down how they went."""
    exits = exits_by_journal(digests)
    return [
        each
        for each in newest_clients(digests)
        if each.journal not in exits
        and not any(isinstance(record, Finished) and not record.is_leaving for record in each.said)
        and is_alive(process_of(each)) is False
    ]


def awaited_processes(digests: list[Digest], now_ns: int) -> list[Digest]:
    """Those of the unexplained ones for which a sidecar is there, or may still be starting."""
    sidecars = [each for each in digests if each.opened.writer == "sidecar"]
    if any(is_alive(writer_of(each.opened)) for each in sidecars):
        return unexplained_processes(digests)
    young = [each for each in unexplained_processes(digests) if now_ns - each.opened.at_ns < SIDECAR_STARTS_WITHIN_NS]
    return [each for each in young if not any(other.opened.at_ns > each.opened.at_ns for other in sidecars)]


def awaited_evidence(digests: list[Digest], now_ns: int) -> list[Digest]:
    """Those of the dead about whom a sidecar that may be alive still asks others: it says when all have been asked."""
    done = {record.pid for record in _said(digests, Looked) if record.source == ALL_ASKED}
    return [each for each in awaited_verdicts(digests, now_ns) if process_of(each).pid not in done]


def awaited_verdicts(digests: list[Digest], now_ns: int, *, within_ns: int = ASKED_WITHIN_NS) -> list[Digest]:
    """Those of the dead about whom such a sidecar is going to say why they died."""
    sidecars = [each for each in digests if each.opened.writer == "sidecar" and not _has_judged(each)]
    sidecars = [each for each in sidecars if is_alive(writer_of(each.opened)) is not False]
    hosts = {each.opened.host for each in sidecars}
    told = {record.journal: record for record in _said(digests, Exited)}
    return [
        each
        for each in newest_clients(digests)
        if each.opened.host in hosts
        and not any(isinstance(record, Finished) and not record.is_leaving for record in each.said)
        and (each.journal in told or is_alive(process_of(each)) is False)
        and _is_recent(told.get(each.journal), now_ns, within_ns)
    ]


def is_awaited(digests: list[Digest], now_ns: int) -> bool:
    """Whether a sidecar is about to write how a process ended, or what others know about that."""
    return bool(awaited_processes(digests, now_ns) or awaited_evidence(digests, now_ns))


def _has_judged(sidecar: Digest) -> bool:
    """Whether it has said nothing more about the end since it said why."""
    last = [record for record in sidecar.said if isinstance(record, Judged | Looked | Exited | ChildExited)][-1:]
    return any(isinstance(record, Judged) for record in last)


def _is_recent(exited: Exited | None, now_ns: int, within_ns: int) -> bool:
    """Whether there may be more to say: not about a process that left with 0, and not after a while."""
    return exited is None or (exited.status != 0 and abs(now_ns - exited.at_ns) < within_ns)


def exits_by_journal(digests: list[Digest]) -> dict[str, Exited]:
    """The best word on each process: one with a status beats one without, and nobody knows better than who waited."""
    found = sorted(
        _said(digests, Exited), key=lambda record: (record.status is not None, record.source == "wait", record.at_ns)
    )
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
    return each.opened.writer in ("launcher", "provisioner") and process_of(each) != writer_of(each.opened)


def _witness(
    each: Digest,
    exited: Exited | None,
    *,
    is_alive: bool | None,
    last_seen_ns: int,
    terms: Sequence[Caught],
    asked: Sequence[KernelAsked],
) -> Witness:
    said = {type(record): record for record in each.said if not (isinstance(record, Raised) and record.where != "main")}
    finished, raised = said.get(Finished), said.get(Raised)
    arrived: list[Caught | Signalled] = [*_told_terms(each), *terms]
    return Witness(
        pid=process_of(each).pid,
        rank=each.opened.rank,
        began_ns=each.opened.at_ns,
        last_seen_ns=last_seen_ns,
        is_alive=is_alive,
        finished=finished if isinstance(finished, Finished) else None,
        raised=raised if isinstance(raised, Raised) else None,
        exited=exited,
        was_terminated=any(_led_to_the_end(term, each, exited) for term in arrived),
        was_preempted=Preempting in said,
        asked=last_wish(
            asked, ended_ns=exited.at_ns if exited else last_seen_ns, status=exited.status if exited else None
        ),
        failed_cell=_failed_cell(each),
    )


def _failed_cell(each: Digest) -> Raised | None:
    failed = [record for record in each.said if isinstance(record, Raised) and record.where == "cell"]
    return failed[-1] if failed and failed[-1].at_ns >= each.last_at_ns else None


def _handled_terms(caught: Sequence[Caught]) -> list[Caught]:
    return [each for each in caught if each.signal == signal.SIGTERM and each.is_handled]


def _told_terms(each: Digest) -> list[Signalled]:
    return [record for record in each.said if isinstance(record, Signalled) and record.signal == signal.SIGTERM]


def _led_to_the_end(term: Caught | Signalled, each: Digest, exited: Exited | None) -> bool:
    """Whether the process left after it; a program may also take the signal for a wish of another kind, and go on."""
    end_ns = exited.at_ns if exited else each.last_at_ns
    return each.opened.at_ns <= term.at_ns and end_ns - term.at_ns < LEAVES_WITHIN_NS


def _may_hear_more(digests: list[Digest], seen: list[Witness], *, is_well: bool) -> bool:
    """Whether somebody is alive who may add to a file that is there: a worker its rows, a sidecar what it finds out."""
    has_gaps = any(each.finished is None and (each.exited is None or each.exited.status is None) for each in seen)
    was_ended = not is_well and any(each.finished is None or each.finished.is_leaving for each in seen)
    writers = {"worker", "sidecar"} if has_gaps or was_ended else {"worker"}
    return any(each.opened.writer in writers and is_alive(writer_of(each.opened)) for each in digests)


def counted_marks(digests: Sequence[Digest]) -> list[Marked]:
    """What people said about the newest attempt, in the order of time: a mark does not count for a later one."""
    return _said(_of_newest_attempt(digests), Marked)


def _mark(marks: list[Marked]) -> Mark | None:
    last = marks[-1] if marks else None
    return Mark(last.state, last.reason, last.by, last.at_ns / 1e9) if last is not None and last.state else None


def cause_mark(digests: Sequence[Digest]) -> CauseMark | None:
    """The last word of people on what the newest attempt died of; None where there is none, or it was taken back."""
    said: list[CauseMarked] = _said(_of_newest_attempt(digests), CauseMarked)
    if not said or not said[-1].cause:
        return None
    last = said[-1]
    return CauseMark(cause=last.cause, reason=last.reason, by=last.by, at=last.at_ns / 1e9, verdict=last.verdict)


def _of_newest_attempt(digests: Sequence[Digest]) -> list[Digest]:
    newest = max((each.opened.attempt for each in digests if each.opened.writer in MAIN), default=0)
    return [each for each in digests if each.opened.attempt >= newest]


def edits(digests: Sequence[Digest]) -> dict[str, Any]:
    """What people call the run, by the names of fields; they have the last word on that."""
    found: dict[str, Any] = {}
    for record in _said(digests, Edited):
        for name in ("name", "notes", "tags", "colour"):
            if (value := getattr(record, name)) is not None:
                found[name] = value
    return found


def merged_facts(digests: list[Digest]) -> dict[str, Any]:
    """What sidecars found, of several the newest word on each matter."""
    facts: dict[str, Any] = {}
    for record in _said(digests, Facts):
        facts |= record.facts
    return in_form(facts)


def _said(digests: Sequence[Digest], kind: type[Record]) -> list[Any]:
    found = [record for each in digests for record in each.said if isinstance(record, kind)]
    return sorted(found, key=lambda record: record.at_ns)


def row_of(run: str, digests: Sequence[Digest], **ends: Any) -> RunRow | None:
    """A run as its journals tell it, with how it goes or went, which others say; None where no program has written.

    Pure. The digests are in the order of time.
    """
    programs = [each for each in digests if each.opened.writer in PROGRAM]
    if not programs:
        return None
    began_ns = programs[0].opened.at_ns
    described = described_as(programs) or Described(at_ns=began_ns, project="", name=run, started_ns=began_ns)
    opened, counted, parent = newest_of(programs).opened, _counted(programs), fork_of(programs)
    return RunRow(
        id=run,
        **({name: getattr(described, name) for name in _LABELS} | edits(digests)),
        host=opened.host,
        attempt=opened.attempt,
        last_row_ns=max((each.last_at_ns for each in programs if each.rows), default=None),
        rows=sum(each.rows for each in programs),
        steps=count_steps(counted),
        last_step=max(counted, key=lambda each: each.last_at_ns).last_step,
        config=merged_config(programs) | amended(digests, "config"),
        summary=merged_summary(counted) | amended(digests, "summary"),
        metrics=metric_definitions(programs),
        masked=masked_secrets(digests),
        said_ns=max((each.opened.at_ns for each in digests if each.opened.writer == "command"), default=0),
        warning=standing_warning(digests),
        mark=_mark(counted_marks(digests)),
        cause_mark=cause_mark(digests),
        processes=tuple(sorted({_name_of(process_of(each)) for each in newest_clients(programs)})),
        fork=Fork(parent.run, parent.step) if parent is not None else None,
        rewinds=rewinds_of(programs),
        **ends,
    )


def _counted(programs: list[Digest]) -> list[Digest]:
    """Those whose sums count: one that went back to an earlier step begins with what the rows up to there add up to."""
    since = max(rewinds_of(programs), default=0)
    return [each for each in programs if each.opened.attempt >= since] or programs


def _name_of(process: ProcessIdentity) -> str:
    return f"{process.boot_id}/{process.pid}/{process.started}"


def _ends(outcome: Outcome) -> dict[str, Any]:
    """How a run goes at the moment of an outcome; why it ended is for the rules to say."""
    cause = None if outcome.state in (RUNNING, FINISHED) else "unknown"
    return {
        "state": outcome.state,
        "because": outcome.because,
        "cause": cause,
        "ended_ns": outcome.ended_at_ns,
        "is_stale": outcome.is_stale,
    }


def count_steps(programs: list[Digest]) -> int:
    """How many steps there are up to the highest one, from 0 on."""
    steps = [each.highest_step for each in programs if each.highest_step is not None]
    return max(0, max(steps) + 1) if steps else 0


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
    return summarise(last, merged_aggregates(programs), metrics=metric_definitions(programs)) | by_hand


def masked_secrets(digests: Sequence[Digest]) -> dict[str, int]:
    """What all writers together have hidden."""
    counts: dict[str, int] = {}
    for each in digests:
        for name, count in each.masked.items():
            counts[name] = counts.get(name, 0) + count
    return counts


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
