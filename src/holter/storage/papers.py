"""The port for small files that several servers must have alike: keys, people, whose a run is, what was deleted."""

from collections.abc import Collection, Mapping
from contextlib import AbstractContextManager
from typing import Protocol

import msgspec


class Paper(msgspec.Struct, frozen=True):
    """A file at one moment. `version` grows with each change; `data` is None where it was removed."""

    version: int
    data: bytes | None
    at_ns: int
    """The time that the file has, which may mean something."""


class PaperStore(Protocol):
    """Small files by name, for any number of servers. Thread-safe. Each method raises StorageFailing."""

    def changed(self, since_s: float = 0.0) -> tuple[Mapping[str, int], float]:
        """The versions of what has changed since a time that an earlier answer has told, and maybe of some more; at
        first of all. And from when on to ask next time: what changes while somebody asks is in one of both answers."""

    def read(self, names: Collection[str]) -> Mapping[str, Paper]:
        """Those that there are or were."""

    def put(self, name: str, data: bytes | None, *, at_ns: int, before: int) -> int:
        """Replace a version, 0 where there is none yet; returns the new one, 0 where somebody else was quicker."""

    def alone(self, name: str) -> AbstractContextManager[None]:
        """Within this nobody else is who asked for the same, on whatever server."""

    def close(self) -> None:
        """Idempotent."""
