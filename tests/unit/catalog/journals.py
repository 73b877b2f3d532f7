"""Writes journals of processes that never were, dead or alive, here or elsewhere."""

import os
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from holter.journal.frame import encode_record
from holter.journal.rows import RowEncoder
from holter.journal.writer import JournalWriter
from holter.model.clock import Clock
from holter.model.record import Record
from holter.model.records import Described, Opened
from holter.probes.identity import ProcessIdentity, identify

HOUR = 3600 * 1_000_000_000
# Old enough that nobody waits for a sidecar that may still be starting.
BEGAN_NS = time.time_ns() - HOUR


def alive() -> ProcessIdentity:
    """This process."""
    me = identify(os.getpid())
    assert me is not None
    return me


def dead() -> ProcessIdentity:
    """A process of this host and boot whose pid was given to another one: us."""
    return msgspec.structs.replace(alive(), started=1)


def elsewhere() -> ProcessIdentity:
    """A process of another machine, with a pid that nobody has here."""
    return msgspec.structs.replace(alive(), host="another-machine", boot_id="another-boot", pid=2**22 + 1)


def of_an_earlier_boot() -> ProcessIdentity:
    return msgspec.structs.replace(alive(), boot_id="an-earlier-boot")


class Journal:
    """One journal of a run's directory, open until `close`."""

    def __init__(
        self,
        directory: Path,
        writer: ProcessIdentity,
        *,
        kind: str = "client",
        attempt: int = 1,
        rank: int | None = None,
    ) -> None:
        self._opened = Opened(
            at_ns=BEGAN_NS,
            run=directory.name,
            writer=kind,
            host=writer.host,
            boot_id=writer.boot_id,
            pid=writer.pid,
            process_started=writer.started,
            pid_namespace=writer.pid_namespace,
            holter="0.0.0",
            attempt=attempt,
            rank=rank,
        )
        self.writer = JournalWriter(str(directory), self._prologue, clock=Clock())
        self.rows = RowEncoder(self.writer.append_held)
        self.writer.open()

    @property
    def id(self) -> str:
        return self.writer.id.hex()

    def say(self, *records: Record) -> "Journal":
        for record in records:
            self.writer.record(record)
        return self

    def log(self, steps: Iterable[int], **values: Any) -> "Journal":
        for step in steps:
            self.rows.append(values or {"loss": 1 / (step + 1)}, step, BEGAN_NS + step * 1_000_000)
        return self

    def close(self) -> "Journal":
        self.writer.close()
        return self

    def _prologue(self) -> Iterator[bytes]:
        yield encode_record(self._opened)
        yield from self.rows.declarations() if hasattr(self, "rows") else ()


def named(name: str, project: str = "tests") -> Described:
    return Described(at_ns=BEGAN_NS, project=project, name=name, started_ns=BEGAN_NS)


def age(directory: Path, seconds: float = 3600.0) -> None:
    """Make a directory and its files as old as a run that ended a while ago."""
    then = time.time() - seconds
    for path in [*directory.iterdir(), directory]:
        os.utime(path, (then, then))
