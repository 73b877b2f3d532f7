"""How thoroughly to measure, and where."""

from pathlib import Path
from typing import TypeVar

import msgspec

T = TypeVar("T")


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """What the caller of the benchmarks chose. `scratch` is an empty directory on the disk that is measured."""

    scratch: Path
    peers: Path | None = None
    """The Python that has the peers; None where they are left out."""
    is_alone: bool = False
    """No other tracker is wanted."""
    is_quick: bool = False
    """A smoke pass: everything runs, the figures mean nothing."""
    is_long: bool = False
    runs: int | None = None
    seconds: float | None = None
    """Another size of what is measured, where somebody wants one."""

    def pick(self, full: T, quick: T) -> T:
        return quick if self.is_quick else full
