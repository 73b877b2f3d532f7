"""Brings together all that is known about the end of a run: journals, traces, samples, console."""

import os
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from holter.catalog.judge.ends import AROUND, Traces, ended_by_cell, ends_of_children, ends_of_programs
from holter.catalog.read.cells import read_cell_numbers, with_named_cells
from holter.catalog.read.divergence import find_non_finite
from holter.catalog.read.findings import Findings, findings_of
from holter.catalog.read.gpu_samples import gpu_events_of
from holter.catalog.read.last_words import read_last_words
from holter.catalog.read.loaded_run import LoadedRun, newest_clients
from holter.catalog.read.resuming import is_notebook
from holter.catalog.read.samples import Samples, memory_of, read_samples, with_counters
from holter.catalog.read.stacks import share_faults
from holter.catalog.read.warnings_of import stalls_of
from holter.journal.digest import Digest
from holter.journal.rundir import list_segments
from holter.journal.signal_log import read_signal_log
from holter.journal.tail import last_rows
from holter.model.evidence import ALL_ASKED, Caught, End, Evidence, GpuEvents, KernelEvent, Memory, NonFinite, Unseen
from holter.model.records import KernelAsked, Looked, Preempting
from holter.model.state import CRASHED, NOTICED_WITHIN_NS, Outcome
from holter.model.warning_records import GpuRefused, Stood

SHARED = set(Findings.__struct_fields__) & set(Evidence.__struct_fields__) - {"unseen"}
"""What is evidence as the sources have told it."""
FAULT_BYTES = 32 << 10
ROWS_BYTES = 128 << 10
MOST_ROWS_BYTES = 1 << 20
MOST_RANKS_READ = 8
MOST_CHILDREN = 8
_FAULT_STARTS = ("Fatal Python error", "Windows fatal exception")
NOBODY_THERE = Unseen(
    because="the process was gone when holter looked, and its sidecar was not there to see how it ended",
    remedy="let the sidecar outlive the program (do not end the whole job, session or container at once), "
    "or start the program with `holter run --`",
)
BECAME = "the process became another program ({}), and nothing of holter's was there to see how that ended"
OUT_OF_SIGHT = Unseen(
    because="the process ran on a machine or in a container that holter can't see from here",
    remedy="run `holter why` there; what it finds is written down for all",
)
NO_SAMPLES = Unseen(
    because="there are no samples of the machine from this run: it had no sidecar",
    remedy="let holter start its sidecar: it samples memory, pressure and disks every second",
)


def gather(loaded: LoadedRun) -> Evidence:
    """All that is known about the end of the newest attempt. Takes some milliseconds, also for a run of a million rows.

    Files that can't be read are as if they were not there: then `unseen` says so.
    """
    directory, outcome = loaded.row.directory, loaded.by_itself
    newest = newest_clients(loaded.digests)
    began_ns = min((each.opened.at_ns for each in newest), default=0)
    ends, children = _read_ends(loaded, newest, began_ns)
    subject = _subject(ends, outcome)
    looked = [record for record in loaded.said(Looked) if record.at_ns >= began_ns]
    of_child = _findings_of_children(looked, children)
    found = findings_of([each for each in looked if not _is_around_a_child(each, children)], pid=subject.pid)
    becomes = (found.surroundings.becomes if found.surroundings is not None else None) or ""
    known, children = share_faults(_without_witness(subject) if becomes else subject, children)
    ends = [known if end is subject else end for end in ends]
    subject = known
    samples = _read_samples(loaded, subject)
    ended_ns = outcome.ended_at_ns or subject.at_ns
    return Evidence(
        subject=subject,
        run=loaded.row.id,
        state=outcome.state,
        ended_ns=ended_ns,
        ranks=tuple(end for end in ends if end is subject or _is_beside(end, subject)),
        children=tuple(children),
        memory=_memory(samples, found, ended_ns=ended_ns),
        memory_of={
            child.pid: _memory(
                samples, msgspec.structs.replace(found, counters=of_child[child.pid].counters), ended_ns=child.at_ns
            )
            for child in children
            if child.pid in of_child and any(not each.is_first for each in of_child[child.pid].counters)
        },
        surroundings_of={pid: each.surroundings for pid, each in of_child.items() if each.surroundings},
        gpu=_gpu(samples, found),
        **{name: getattr(found, name) for name in SHARED},
        non_finite=tuple(_read_non_finite(directory, newest)),
        said=tuple(_read_said(directory, began_ns)),
        stalls=tuple(stalls_of(loaded.said(Stood), since_ns=began_ns)),
        gpu_refusals=tuple(each for each in loaded.said(GpuRefused) if each.at_ns >= began_ns),
        kernel_events=tuple(_kernel_events(loaded, began_ns)),
        is_watched=any(
            each.source == ALL_ASKED and each.pid == subject.pid and bool(each.found.get("hears_exits"))
            for each in looked
        ),
        is_late=outcome.state == CRASHED and not outcome.is_final,
        was_preempting=any(isinstance(record, Preempting) for each in newest for record in each.said),
        is_notebook=is_notebook(loaded.facts),
        config=loaded.row.config,
        facts=loaded.facts,
        unseen={**_missing(subject, samples, becomes), **found.unseen},
    )


def _read_ends(loaded: LoadedRun, newest: Sequence[Digest], began_ns: int) -> tuple[list[End], list[End]]:
    """Of the programs and of their children, with names for the cells of a notebook."""
    directory, digests, outcome = loaded.row.directory, loaded.digests, loaded.by_itself
    traces = read_traces(directory, newest, since_ns=began_ns)
    cells = _read_cell_numbers(directory, newest)
    ends = ends_of_programs(digests, traces, command=_command(loaded.facts))
    if (failed := outcome.failed_cell) is not None:
        ends = [ended_by_cell(end, failed) if end.pid == outcome.pid else end for end in ends]
    children = ends_of_children(digests, traces, except_pids=[end.pid for end in ends])
    return [with_named_cells(end, cells) for end in ends], [with_named_cells(end, cells) for end in children]


def read_traces(directory: str, newest: Sequence[Digest], *, since_ns: int) -> Traces:
    """What processes left outside of their journals."""
    log = read_signal_log(directory)
    caught: dict[int, list[Caught]] = {}
    for each in sorted(log.caught, key=lambda each: each.at_ns):
        if each.at_ns >= since_ns:
            caught.setdefault(each.pid, []).append(each)
    ranks = {each.opened.rank or None for each in newest}
    faults = {rank: _read_faults(directory, rank, since_ns=since_ns) for rank in ranks}
    return Traces(signals=caught, witnessed=frozenset(log.witnessed), faults=faults)


def _subject(ends: Sequence[End], outcome: Outcome) -> End:
    """The process whose end is that of the run."""
    decided = [end for end in ends if end.pid == outcome.pid]
    recording = [end for end in decided if end.role not in AROUND]  # `holter run python …`: both are one process
    return (recording or decided or list(ends))[0]


def _without_witness(subject: End) -> End:
    """The signal witness is no part of a program that took the place of the one it was in."""
    return msgspec.structs.replace(subject, has_signal_witness=False)


def _is_beside(end: End, subject: End) -> bool:
    """Whether it ran with the subject: neither the command around it nor an earlier try of the same command."""
    was_before = end.rank == subject.rank and end.at_ns <= subject.began_ns + NOTICED_WITHIN_NS
    return end.role not in AROUND and not was_before


def _read_faults(directory: str, rank: int | None, *, since_ns: int) -> str:
    """The end of the file, from the last fault on."""
    path = os.path.join(directory, f"faults-{rank}.log" if rank else "faults.log")
    try:
        with open(path, "rb") as file:
            found = os.fstat(file.fileno())
            if found.st_mtime_ns < since_ns or not found.st_size:
                return ""
            file.seek(max(0, found.st_size - FAULT_BYTES))
            text = file.read().decode("utf-8", "replace")
    except OSError:
        return ""
    start = max(text.rfind(word) for word in _FAULT_STARTS)
    return text[max(0, start) :]


def _read_cell_numbers(directory: str, newest: Iterable[Digest]) -> dict[str, int]:
    kernels = {each.journal for each in newest if each.cell is not None}
    try:
        segments = list_segments(directory) if kernels else {}
        found = [read_cell_numbers(paths) for journal, paths in segments.items() if journal in kernels]
    except OSError:
        return {}
    return {file: number for numbers in found for file, number in numbers.items()}


def _findings_of_children(looked: Sequence[Looked], children: Sequence[End]) -> dict[int, Findings]:
    """What was found at the deaths of the last few children that a signal ended."""
    pids = [child.pid for child in children if child.signal is not None or child.status is None][-MOST_CHILDREN:]
    return {pid: findings_of([each for each in looked if each.pid == pid], pid=pid) for pid in pids}


def _is_around_a_child(record: Looked, children: Sequence[End]) -> bool:
    """What was around a child says nothing about the program."""
    return record.source == "surroundings" and any(record.pid == child.pid for child in children)


def _read_samples(loaded: LoadedRun, subject: End) -> Samples:
    try:
        return read_samples(loaded.digests, list_segments(loaded.row.directory), host=subject.host)
    except OSError:
        return Samples()


def _memory(samples: Samples, found: Findings, *, ended_ns: int) -> Memory:
    memory = memory_of(samples, ended_ns=ended_ns)
    for counters in found.counters:
        memory = with_counters(memory, counters)
    if found.process_table is None:
        return memory
    return msgspec.structs.replace(memory, holders=found.process_table.holders, holders_ns=found.process_table_ns)


def _gpu(samples: Samples, found: Findings) -> GpuEvents | None:
    """What NVML told the sidecar, completed by the samples."""
    sampled, told = gpu_events_of(samples), found.gpu_events
    if sampled is None or told is None:
        return told or sampled
    missing = {
        name: value
        for name, value in msgspec.structs.asdict(sampled).items()
        if getattr(told, name) in (None, ()) and value is not None
    }
    return msgspec.structs.replace(told, **missing)


def _read_non_finite(directory: str, newest: Iterable[Digest]) -> Iterable[NonFinite]:
    try:
        segments = list_segments(directory)
        for each in sorted(newest, key=lambda each: each.opened.rank or 0)[:MOST_RANKS_READ]:
            paths = segments.get(each.journal, [])
            found = find_non_finite(last_rows(paths, most_bytes=ROWS_BYTES))
            if any(metric.is_last and metric.last_finite is None for metric in found):  # it began further back
                found = find_non_finite(last_rows(paths, most_bytes=MOST_ROWS_BYTES))
            if found:
                return found
    except OSError:
        return []
    return []


def _read_said(directory: str, began_ns: int) -> Iterable[Any]:
    try:
        return read_last_words(directory, since_ns=began_ns)
    except OSError:
        return []


def _kernel_events(loaded: LoadedRun, began_ns: int) -> Iterable[KernelEvent]:
    for record in loaded.said(KernelAsked):
        if record.at_ns >= began_ns:
            yield KernelEvent(at_ns=record.at_ns, kind=record.kind, is_busy=record.is_busy)


def _command(facts: dict[str, Any]) -> str:
    return " ".join(map(str, facts.get("command") or []))


def _missing(subject: End, samples: Samples, becomes: str) -> dict[str, Unseen]:
    """What nobody was there to look at."""
    missing = {}
    if subject.status is None and subject.at_ns:
        nobody = Unseen(because=BECAME.format(becomes), remedy=NOBODY_THERE.remedy) if becomes else NOBODY_THERE
        missing["exit-status"] = nobody if subject.is_alive is False else OUT_OF_SIGHT
    if not samples.last:
        missing["samples"] = NO_SAMPLES
    return missing
