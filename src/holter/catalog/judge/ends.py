"""How each process of a run ended, from what its witnesses wrote. Pure."""

import os
import signal
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import msgspec

from holter.catalog.read.loaded_run import exits_by_journal, last_seen_ns, newest_clients, process_of
from holter.journal.digest import Digest
from holter.model.evidence import Caught, End
from holter.model.records import ChildExited, Exited, Finished, Launched, Raised, Signalled
from holter.probes.identity import is_alive

# The parent and the sidecar may both tell of a child; a pid is given to another process only much later.
SAME_CHILD_NS = 60_000_000_000
HANDLED_WITHIN_NS = 60_000_000_000
FAULTS = (signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGABRT)
ROLES = {"launcher": "command", "watch": "watched", "provisioner": "kernel"}
AROUND = ("command", "kernel")
"""Roles of a process that another journal may speak for as well: that of who records inside it."""


class Traces(NamedTuple):
    """What processes left outside of their journals, by pid."""

    signals: Mapping[int, Sequence[Caught]] = {}
    witnessed: frozenset[int] = frozenset()
    """Those in which the signal witness was."""
    faults: Mapping[int | None, str] = {}
    """Python's stacks by rank; None for a program without one."""


def ends_of_programs(digests: Sequence[Digest], traces: Traces, *, command: str = "") -> list[End]:
    """The processes of the newest attempt that record or are watched, by the time of their end.

    `command` is the command line of those that did not say theirs.
    """
    newest = newest_clients(list(digests))
    ranks = {each.opened.rank for each in newest if each.opened.rank is not None}
    found = [_end_of(each, digests, traces, is_one_of_many=len(ranks) > 1) for each in newest]
    named = [end if end.name else msgspec.structs.replace(end, name=command) for end in found]
    return sorted(named, key=lambda end: end.at_ns)


def ends_of_children(digests: Sequence[Digest], traces: Traces, *, except_pids: Iterable[int]) -> list[End]:
    """The children of the newest attempt that did not end well, by the time of their end; each once."""
    attempt = max((each.opened.attempt for each in newest_clients(list(digests))), default=0)
    current = [each for each in digests if each.opened.attempt == attempt]
    skipped = set(except_pids)
    told = sorted(
        (record for each in current for record in each.said if isinstance(record, ChildExited)),
        key=lambda record: record.at_ns,
    )
    groups: list[list[ChildExited]] = []
    for record in told:
        same = [group for group in groups if _is_same(group[-1], record)]
        if same:
            same[-1].append(record)
        elif record.pid not in skipped:
            groups.append([record])
    workers = {each.opened.pid: each for each in current if each.opened.writer == "worker"}
    ends = [_end_of_child(group, workers.get(group[0].pid), traces) for group in groups]
    untold = set(traces.signals) - skipped - {end.pid for end in ends}
    ends += [_end_by_trace(pid, traces.signals[pid]) for pid in untold if _has_fault(traces.signals[pid])]
    return sorted((end for end in ends if _went_wrong(end)), key=lambda end: end.at_ns)


def _end_of(each: Digest, digests: Sequence[Digest], traces: Traces, /, *, is_one_of_many: bool) -> End:
    process = process_of(each)
    exited = exits_by_journal(list(digests)).get(each.journal)
    finished = next((record for record in reversed(each.said) if isinstance(record, Finished)), None)
    raised = [record for record in each.said if isinstance(record, Raised)]
    ending = [record for record in raised if _ends_program(record, exited)]
    seen_ns = last_seen_ns(each, list(digests))
    caught = [*traces.signals.get(process.pid, ()), *_heard_outside(each, exited)]
    role = ROLES.get(each.opened.writer, "rank" if is_one_of_many else "program")
    return End(
        pid=process.pid,
        role=role,
        name=_command(each),
        host=each.opened.host,
        rank=each.opened.rank,
        began_ns=each.opened.at_ns,
        at_ns=exited.at_ns if exited else finished.at_ns if finished else seen_ns,
        status=exited.status if exited else None,
        source=exited.source if exited else "",
        finished=finished,
        raised=msgspec.structs.replace(ending[-1], where="main") if ending else None,
        others_raised=(*_beside(raised, ending), *_of_workers(each, digests)),
        signals=tuple(caught),
        has_signal_witness=process.pid in traces.witnessed,
        handled=_handled(each, caught, ended_ns=exited.at_ns if exited else seen_ns),
        cpu_s=_cpu_s(process.pid, digests),
        max_rss_bytes=_max_rss_bytes(process.pid, digests),
        fault_log=traces.faults.get(each.opened.rank or None, "") if role != "command" else "",
        last_step=each.last_step,
        last_row_ns=each.last_at_ns if each.rows else None,
        is_alive=False if exited else _is_alive(each, finished),
    )


def ended_by_cell(end: End, failed: Raised) -> End:
    """A kernel whose run ended with a cell that failed, though the kernel itself lived on: as of that moment."""
    code = 130 if failed.type == "KeyboardInterrupt" else 1
    # What it was sent later put it away.
    signals = tuple(each for each in end.signals if each.at_ns <= failed.at_ns)
    return msgspec.structs.replace(
        end,
        at_ns=failed.at_ns,
        status=None,
        source="",
        raised=msgspec.structs.replace(failed, where="main"),
        finished=Finished(at_ns=failed.at_ns, exit_code=code, how="cell"),
        signals=signals,
        handled=tuple(dict.fromkeys(each.signal for each in signals if each.is_handled)),
        fault_log="",
    )


def _beside(raised: Sequence[Raised], ending: Sequence[Raised]) -> list[Raised]:
    """Those that did not end it; a cell that failed is over, and whatever came later has another reason."""
    return [record for record in raised if record not in ending and record.where != "cell"]


def _ends_program(raised: Raised, exited: Exited | None) -> bool:
    """What the program showed by itself may be why it left; whoever left in order, or unseen, had got over it."""
    return raised.where == "main" or (raised.where == "shown" and bool(exited and exited.status))


def _end_of_child(told: Sequence[ChildExited], worker: Digest | None, traces: Traces) -> End:
    best = max(told, key=lambda record: (record.status is not None, record.source == "multiprocessing"))
    raised = [record for record in worker.said if isinstance(record, Raised)] if worker else []
    ending = [record for record in raised if record.where == "child"]
    return End(
        pid=best.pid,
        role="child",
        name=next((record.name or record.command for record in told if record.name), "")
        or next((record.command for record in told if record.command), ""),
        host=worker.opened.host if worker else "",
        rank=worker.opened.rank if worker else None,
        began_ns=worker.opened.at_ns if worker else 0,
        at_ns=min(record.at_ns for record in told),
        status=best.status,
        source=best.source,
        raised=ending[-1] if ending else None,
        others_raised=tuple(record for record in raised if record.where != "child"),
        signals=tuple(traces.signals.get(best.pid, ())),
        has_signal_witness=best.pid in traces.witnessed,
        last_step=worker.last_step if worker else None,
        last_row_ns=worker.last_at_ns if worker and worker.rows else None,
        times=max(record.times for record in told),
        parent_signal=best.parent_signal,
    )


def _end_by_trace(pid: int, caught: Sequence[Caught]) -> End:
    """A child whose end nobody told, because its parent died of it at once; the witness in it saw the fault."""
    return End(pid=pid, role="child", at_ns=caught[-1].at_ns, signals=tuple(caught), has_signal_witness=True)


def _has_fault(caught: Sequence[Caught]) -> bool:
    return any(each.signal in FAULTS and not each.is_sent for each in caught)


def _handled(digest: Digest, caught: Iterable[Caught], *, ended_ns: int) -> tuple[int, ...]:
    """A program that goes on for long after a signal that it handles does not end because of it."""
    told = [
        record.signal
        for record in digest.said
        if isinstance(record, Signalled) and record.code is None and ended_ns - record.at_ns <= HANDLED_WITHIN_NS
    ]
    return tuple(dict.fromkeys([*told, *(each.signal for each in caught if each.is_handled)]))


def _heard_outside(each: Digest, exited: Exited | None) -> list[Caught]:
    """What `holter run` was told, and its command too; it handled what it did not die of at once."""
    status = exited.status if exited else None
    ended_by = os.WTERMSIG(status) if status is not None and os.WIFSIGNALED(status) else None
    return [
        Caught(
            at_ns=record.at_ns,
            pid=process_of(each).pid,
            thread=0,
            signal=record.signal,
            code=record.code,
            sender_pid=record.sender_pid,
            sender_uid=record.sender_uid,
            sender=record.sender,
            is_handled=record.signal != ended_by,
        )
        for record in each.said
        if isinstance(record, Signalled) and record.code is not None
    ]


def _cpu_s(pid: int, digests: Iterable[Digest]) -> float | None:
    told = _exits_of(pid, digests)
    known = [record.user_s + (record.system_s or 0.0) for record in told if record.user_s is not None]
    return known[-1] if known else None


def _max_rss_bytes(pid: int, digests: Iterable[Digest]) -> int | None:
    return max((record.max_rss_bytes for record in _exits_of(pid, digests) if record.max_rss_bytes), default=None)


def _exits_of(pid: int, digests: Iterable[Digest]) -> list[Exited]:
    return [record for each in digests for record in each.said if isinstance(record, Exited) and record.pid == pid]


def _is_alive(each: Digest, finished: Finished | None) -> bool | None:
    """A process that lives on after it has ended its run is none of the run's any more."""
    return None if finished is not None and not finished.is_leaving else is_alive(process_of(each))


def _of_workers(each: Digest, digests: Sequence[Digest]) -> list[Raised]:
    """What workers of a pool caught and handed to their parent, who may have raised it again."""
    workers = [
        other
        for other in digests
        if other.opened.writer == "worker"
        and (other.opened.attempt, other.opened.rank, other.opened.host)
        == (each.opened.attempt, each.opened.rank, each.opened.host)
    ]
    return [
        record for other in workers for record in other.said if isinstance(record, Raised) and record.where == "pool"
    ]


def _is_same(one: ChildExited, other: ChildExited) -> bool:
    return one.pid == other.pid and abs(one.at_ns - other.at_ns) < SAME_CHILD_NS


def _went_wrong(end: End) -> bool:
    """A child of whom nobody knows how it ended counts only where it left a trace."""
    if end.status is None:
        return end.raised is not None or bool(end.signals)
    return end.status != 0


def _command(each: Digest) -> str:
    launched = next((record for record in each.said if isinstance(record, Launched)), None)
    return " ".join(launched.command) if launched else ""
