"""What the journals say of a run that is over, for whoever asks about its end; light enough for a training process."""

import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from holter.journal.digest import Digest
from holter.model.evidence import SOURCES
from holter.model.finding import Finding
from holter.model.record import Record
from holter.model.records import ChildExited, Facts, Launched, Looked, Opened
from holter.probes.identity import boot_id, host_name, pid_namespace
from holter.probes.postmortem.answers import answer

RECORDING = ("client", "worker", "launcher", "provisioner")


class Past(msgspec.Struct, frozen=True, kw_only=True):
    """What the journals say of the newest attempt on one host, as far as a source needs it."""

    opened: Opened
    pid: int
    """Of the program: that of the command under `holter run`."""
    began_ns: int
    ended_ns: int
    pids: frozenset[int]
    looked: tuple[Looked, ...] = ()
    schedulers: Mapping[str, Any] = {}

    @property
    def is_here(self) -> bool:
        """It ran on this machine, in this boot or in an earlier one."""
        return self.opened.host == host_name()

    @property
    def is_this_boot(self) -> bool:
        """Its counters and pids still mean something."""
        has_same_pids = self.opened.pid_namespace in ("", pid_namespace())
        return self.is_here and self.opened.boot_id == boot_id() and has_same_pids

    def said(self, source: str, pid: int | None = None) -> list[Finding]:
        """What the source has answered so far, about one process or at all; forms of a newer holter are left out."""
        found = []
        for record in self.looked:
            if record.source == source and not record.because and pid in (None, record.pid):
                try:
                    found.append(msgspec.convert(record.found, SOURCES[source]))
                except msgspec.ValidationError:
                    continue
        return found

    def answer(self, source: str, found: Finding, *, pid: int = 0) -> Looked:
        """The sentence in which an answer that was given now is kept."""
        return answer(source, found, at_ns=time.time_ns(), pid=pid)


def recall(digests: Sequence[Digest], ended_ns: int) -> Past | None:
    """Return what is known of the run's newest attempt, None for one that nobody recorded into. Pure."""
    clients = [each for each in digests if each.opened.writer in RECORDING]
    if not clients:
        return None
    attempt = max(each.opened.attempt for each in clients)
    newest = [each for each in clients if each.opened.attempt == attempt]
    first = min(newest, key=lambda each: (each.opened.rank or 0, each.opened.at_ns))
    said = [record for each in digests if each.opened.attempt == attempt for record in each.said]
    pids = {each.opened.pid for each in newest}
    pids |= {record.pid for kind in (ChildExited, Launched) for record in _of(said, kind)}
    launched = [record.pid for record in _of(first.said, Launched)]
    facts: dict[str, Any] = {}
    for record in _of(said, Facts):
        facts |= record.facts
    return Past(
        opened=first.opened,
        pid=launched[-1] if launched else first.opened.pid,
        began_ns=min(each.opened.at_ns for each in newest),
        ended_ns=ended_ns,
        pids=frozenset(pids),
        looked=tuple(sorted(_of(said, Looked), key=lambda record: record.at_ns)),
        schedulers=facts.get("schedulers") or {},
    )


def _of(said: Iterable[Record], kind: type[Any]) -> list[Any]:
    return [record for record in said if isinstance(record, kind)]
