"""What the sources said that were asked about the end of a run: `Looked` records back in their forms. Pure."""

from collections.abc import Iterable, Sequence
from typing import TypeVar

import msgspec

from holter.model.evidence import (
    SOURCES,
    Counters,
    Finding,
    GpuEvents,
    HostEnd,
    Job,
    KernelLog,
    OomDaemon,
    ProcessTable,
    Sender,
    Surroundings,
    Unseen,
)
from holter.model.records import Looked

F = TypeVar("F", bound=Finding)


class Findings(msgspec.Struct, frozen=True, kw_only=True):
    """One answer of each source that was asked; None for those that were not, or could not be."""

    counters: tuple[Counters, ...] = ()
    """In the order of time; the first ones say only what was when the run began."""
    kernel_log: KernelLog | None = None
    process_table: ProcessTable | None = None
    process_table_ns: int | None = None
    surroundings: Surroundings | None = None
    job: Job | None = None
    host: HostEnd | None = None
    oom_daemon: OomDaemon | None = None
    gpu_events: GpuEvents | None = None
    senders: tuple[Sender, ...] = ()
    unseen: dict[str, Unseen] = {}


def findings_of(looked: Sequence[Looked], *, pid: int) -> Findings:
    """The answers, put together; of those about single processes the ones about `pid`, if there are any.

    What this holter can't read, because a newer one wrote it, counts as not asked.
    """
    ordered = sorted(looked, key=lambda record: record.at_ns)
    found = {source: _decoded(ordered, source, kind, pid=pid) for source, kind in SOURCES.items()}
    tables = found["process-table"]
    return Findings(
        counters=tuple(finding for _, finding in found["counters"] if isinstance(finding, Counters)),
        kernel_log=_all_of_the_log(found["kernel-log"]),
        process_table=_last(tables, ProcessTable),
        process_table_ns=tables[-1][0] if tables else None,
        surroundings=_around(found["surroundings"], found["last-seen"]),
        job=_merged(found["job"], Job),
        host=_merged(found["host"], HostEnd),
        oom_daemon=_last(found["oom-daemon"], OomDaemon),
        gpu_events=_merged(found["gpu-events"], GpuEvents),
        senders=tuple(finding for _, finding in found["sender"] if isinstance(finding, Sender)),
        unseen={
            record.source: Unseen(because=record.because, remedy=record.remedy)
            for record in ordered
            if record.because and not found.get(record.source)
        },
    )


def _decoded(looked: Iterable[Looked], source: str, kind: type[F], *, pid: int) -> list[tuple[int, F]]:
    """In the order of time, but what is about this process comes last and so counts most."""
    found: list[tuple[int, int, F]] = []
    for record in looked:
        if record.source != source or record.because:
            continue
        try:
            found.append((record.pid, record.at_ns, msgspec.convert(record.found, kind)))
        except msgspec.ValidationError:
            continue
    return [(at_ns, finding) for about, at_ns, finding in sorted(found, key=lambda each: each[0] == pid)]


def _last(found: Sequence[tuple[int, Finding]], kind: type[F]) -> F | None:
    return next((finding for _, finding in reversed(found) if isinstance(finding, kind)), None)


def _around(seen: Sequence[tuple[int, Finding]], last_seen: Sequence[tuple[int, Finding]]) -> Surroundings | None:
    """What was seen at the moment itself, completed by what the process and the sidecar last saw."""
    found = [_last(seen, Surroundings), *(each for _, each in reversed(last_seen) if isinstance(each, Surroundings))]
    known = [msgspec.structs.asdict(each) for each in found if each is not None]
    if not known:
        return None
    names = Surroundings.__struct_fields__
    return Surroundings(
        **{name: next((each[name] for each in known if each[name] is not None), None) for name in names}
    )


def _merged(found: Sequence[tuple[int, Finding]], kind: type[F]) -> F | None:
    """Field by field the last word that says anything."""
    known = [finding for _, finding in found if isinstance(finding, kind)]
    if not known:
        return None
    said: dict[str, object] = msgspec.structs.asdict(known[0])
    for finding in known:
        said |= {name: value for name, value in msgspec.structs.asdict(finding).items() if value not in (None, "", ())}
    return msgspec.convert(said, kind, from_attributes=True)


def _all_of_the_log(found: Sequence[tuple[int, Finding]]) -> KernelLog | None:
    logs = [finding for _, finding in found if isinstance(finding, KernelLog)]
    if not logs:
        return None
    kills = {(kill.pid, kill.text, kill.at_ns): kill for log in logs for kill in log.kills}
    lines = {(line.text, line.at_ns): line for log in logs for line in log.lines}
    return KernelLog(
        kills=tuple(sorted(kills.values(), key=lambda kill: kill.at_ns)),
        lines=tuple(sorted(lines.values(), key=lambda line: line.at_ns)),
        tells_faults=any(log.tells_faults for log in logs),
    )
