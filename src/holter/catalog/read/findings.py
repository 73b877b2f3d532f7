"""What the sources said that were asked about the end of a run: `Looked` records back in their forms. Pure."""

from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

import msgspec

from holter.model.evidence import (
    SOURCES,
    Counters,
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
from holter.model.finding import Finding
from holter.model.records import Looked

F = TypeVar("F", bound=Finding)
APART = ("counters", "senders", "surroundings", "process_table_ns", "unseen")
"""What is more than one answer, as the forms put several together: all other fields are named after their source."""


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
    told: dict[str, Any] = {
        source: SOURCES[source].together([each for _, each in found[source]]) for source in found if found[source]
    }
    tables = found["process-table"]
    return Findings(
        counters=tuple(finding for _, finding in found["counters"] if isinstance(finding, Counters)),
        senders=tuple(finding for _, finding in found["sender"] if isinstance(finding, Sender)),
        surroundings=_around(told.get("surroundings"), [each for _, each in found["last-seen"]]),
        process_table_ns=tables[-1][0] if tables else None,
        unseen={
            record.source: Unseen(because=record.because, remedy=record.remedy)
            for record in ordered
            if record.because and not found.get(record.source)
        },
        **{name: told.get(name.replace("_", "-")) for name in Findings.__struct_fields__ if name not in APART},
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


def _around(seen: Finding | None, last_seen: Sequence[Finding]) -> Surroundings | None:
    """What was seen at the moment itself, completed by what the process and the sidecar last saw."""
    found = [each for each in (seen, *reversed(last_seen)) if each is not None]
    known = [msgspec.structs.asdict(each) for each in found]
    if not known:
        return None
    names = Surroundings.__struct_fields__
    return Surroundings(
        **{name: next((each[name] for each in known if each[name] is not None), None) for name in names}
    )
