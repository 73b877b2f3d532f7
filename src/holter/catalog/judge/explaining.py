"""Puts what is known of the end of a run in the form in which it is kept and told."""

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from holter.catalog.judge.ranks import MOST_RANKS, ranks_of
from holter.catalog.read.fatal_cell import fatal_cell
from holter.catalog.read.journal_account import facts_of
from holter.catalog.read.loaded_run import LoadedRun
from holter.catalog.read.stacks import stack_of
from holter.diagnosis.grades import CONSISTENT, confidence_of
from holter.model.evidence import ALL_ASKED, REQUESTS, Evidence, Memory
from holter.model.records import CellStarted, Looked
from holter.model.state import FINISHED, RUNNING
from holter.model.verdicts import Diagnosis, Explanation, Fact, FatalCell, MemoryLimit, NotObservable

WORTH_SAYING = 0.1
LEFT_IN_ORDER = confidence_of(CONSISTENT)
"""How sure it is that a program which left in order left with 0 and of itself, where nobody could see one of both."""
MOST_PRINTED = 8
MOST_TEXT = 20_000


def explanation_of(loaded: LoadedRun, evidence: Evidence, *, diagnosis: Diagnosis, rules: str = "") -> Explanation:
    """All that is told of a diagnosis, with what the journals say where no rule had a word; of a bounded size."""
    unseen = list(diagnosis.not_observable)
    if diagnosis.cause == "unknown" or loaded.by_itself.status is None:
        unseen += _missing_status(loaded, evidence)
    told = diagnosis.evidence or tuple(facts_of(loaded))
    diagnosis = msgspec.structs.replace(diagnosis, evidence=told, not_observable=tuple(unseen))
    cell, ranks = fatal_cell(loaded), ranks_of(evidence)
    found = Explanation(
        diagnosis=diagnosis,
        rules=rules,
        may_change=evidence.job is not None or not _were_all_asked(loaded, evidence.subject.pid),
        stack=stack_of(evidence, diagnosis.cause),
        cell=_cell(loaded, cell),
        ranks=ranks[:MOST_RANKS],
        more_ranks=len(ranks[MOST_RANKS:]),
        printed=tuple(line.text for line in evidence.said if cell and line.at_ns >= cell.at_ns)[-MOST_PRINTED:],
        memory_limit=limit_of(evidence.memory),
    )
    return msgspec.convert(_cut(msgspec.to_builtins(found)), Explanation)


def well(loaded: LoadedRun, evidence: Evidence) -> Diagnosis:
    """Of a run that finished, or is alive."""
    outcome = loaded.by_itself
    if outcome.state == FINISHED:
        facts = [*facts_of(loaded), *_closest_call(evidence.memory)]
        is_known = outcome.is_said or outcome.status is not None
        title = f"{'Finished normally' if is_known else 'It seems to have finished'}: {outcome.because}"
        unseen = tuple(unheard_request(evidence))
        confidence = LEFT_IN_ORDER if unseen or not is_known else 1.0
        return Diagnosis(
            cause=None,
            confidence=confidence,
            title=title,
            state=FINISHED,
            evidence=tuple(facts),
            not_observable=unseen,
        )
    late = "; its heartbeats are late" if outcome.is_stale else ""
    title = f"It is still running: {outcome.because}{late}"
    return Diagnosis(cause=None, confidence=0.0 if late else 1.0, title=title, state=outcome.state)


def unheard_request(evidence: Evidence) -> Iterator[NotObservable]:
    """A program that handles SIGTERM may leave with 0 because of one."""
    around, end = evidence.surroundings, evidence.subject
    has_client = end.role != "command" or end.finished is not None
    was_heard = any(each.signal in REQUESTS for each in end.signals)
    if around is not None and around.heeds_requests and not has_client and not was_heard:
        yield NotObservable(
            cause="terminated",
            because="the program handles signals such as SIGTERM, and nothing in it recorded whether one came",
            remedy="call `holter.init()` in the program",
        )


def limit_of(memory: Memory) -> MemoryLimit | None:
    """The least that anything allowed the run."""
    limits = [MemoryLimit(level.limit_bytes, "its memory limit") for level in memory.levels if level.limit_bytes]
    if memory.total_bytes:
        limits.append(MemoryLimit(memory.total_bytes, "the machine's memory"))
    return min(limits, key=lambda limit: limit.size_bytes, default=None)


def _closest_call(memory: Memory) -> Iterator[Fact]:
    """How near it came to its limit. A cgroup's own peak is no measure: it counts the files that Linux has cached."""
    limit, most = limit_of(memory), memory.own_peak_bytes
    if limit is not None and most and memory.sampled_ns is not None and most >= WORTH_SAYING * limit.size_bytes:
        share = f"{most / limit.size_bytes:.0%}".replace("%", " %")
        text = f"closest call: it held {_size(most)}, {share} of {limit.whose} of {_size(limit.size_bytes)}"
        yield Fact("samples", memory.sampled_ns / 1e9, text)


def _missing_status(loaded: LoadedRun, evidence: Evidence) -> Iterator[NotObservable]:
    if loaded.by_itself.state == RUNNING or loaded.by_itself.is_said or loaded.by_itself.status is not None:
        return
    if (unseen := evidence.unseen.get("exit-status")) is not None:
        yield NotObservable(cause="exit status", because=unseen.because, remedy=unseen.remedy)


def _were_all_asked(loaded: LoadedRun, pid: int) -> bool:
    return any(record.source == ALL_ASKED and record.pid == pid for record in loaded.said(Looked))


def _cell(loaded: LoadedRun, cell: CellStarted | None) -> FatalCell | None:
    """None where no cell was running, where nobody saw, and for a run that lives or finished."""
    if cell is None or loaded.by_itself.state in (RUNNING, FINISHED):
        return None
    ran_s = max(0, (loaded.by_itself.ended_at_ns or cell.at_ns) - cell.at_ns) / 1e9
    return FatalCell(number=cell.number, source=cell.source, ran_s=round(ran_s, 3))


def _cut(value: Any) -> Any:
    """The same without texts of any length."""
    if isinstance(value, str):
        return value if len(value) <= MOST_TEXT else f"{value[:MOST_TEXT]}…"
    if isinstance(value, dict):
        return {name: _cut(each) for name, each in value.items()}
    return [_cut(each) for each in value] if isinstance(value, Sequence) else value


def _size(count: float) -> str:
    return f"{count / 1e9:.1f} GB" if count >= 1e9 else f"{count / 1e6:.0f} MB"
