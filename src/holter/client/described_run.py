"""What a run is called, and where it belongs: the part of `Run` that people set by assignment."""

from typing import Any

import msgspec

from holter.client.shortened import text_of
from holter.model.clock import Clock
from holter.model.record import Record
from holter.model.records import KERNEL, Described


class DescribedRun:
    """Names of a run, each kept when it is set. `Run` says how a record is kept, and whether it still may be."""

    def __init__(self, described: Described, clock: Clock) -> None:
        self._described = described
        self._clock = clock

    @property
    def project(self) -> str:
        """What the run belongs to."""
        return self._described.project

    @property
    def entity(self) -> str:
        """The team, as W&B calls it."""
        return self._described.entity

    @property
    def group(self) -> str:
        """Runs that belong together."""
        return self._described.group

    @property
    def job_type(self) -> str:
        """What kind of run it is within its group."""
        return self._described.job_type

    @property
    def started_at(self) -> float:
        """When the run began, in seconds since 1970."""
        return self._described.started_ns / 1e9

    @property
    def is_kernel(self) -> bool:
        """Whether it records a notebook's kernel for its own sake, and nobody logs to it."""
        return self._described.kind == KERNEL

    @property
    def name(self) -> str:
        """What people call it; settable."""
        return self._described.name

    @name.setter
    def name(self, name: str) -> None:
        self._describe(name=text_of(name, 4096))

    @property
    def notes(self) -> str:
        """A longer description; settable."""
        return self._described.notes

    @notes.setter
    def notes(self, notes: str) -> None:
        self._describe(notes=text_of(notes, 4096))

    @property
    def tags(self) -> tuple[str, ...]:
        """Words to find it by; settable."""
        return self._described.tags

    @tags.setter
    def tags(self, tags: tuple[str, ...]) -> None:
        self._describe(tags=tuple(map(str, tags)))

    def describe(self, described: Described) -> None:
        """Keep what the run is called."""
        self._described = described
        self.keep(described)

    def keep(self, record: Record) -> None:
        """Keep a sentence in the journal."""
        raise NotImplementedError

    def _is_over(self, doing: str) -> bool:
        """Whether the run has ended; if so, it is said."""
        raise NotImplementedError

    def _describe(self, **changes: Any) -> None:
        self._is_over(f"a change of {', '.join(changes)}")
        self.describe(msgspec.structs.replace(self._described, at_ns=self._clock.now_ns(), **changes))
