"""What a probe is given and what it owes."""

from typing import Protocol

import msgspec

NAN = float("nan")


class Target(msgspec.Struct, frozen=True):
    """What is being watched at this tick."""

    roots: tuple[int, ...]
    """Pids of the recorded processes that are alive."""
    tree: tuple[int, ...]
    """The roots and all their descendants."""
    directory: str
    """The run's directory; its file system is watched too."""


class Probe(Protocol):
    """One source of numbers about the host; used by one thread, closed by whoever opened it."""

    def sample(self, target: Target) -> dict[str, float | int]:
        """Return the current values by key, such as `disk/run/free_bytes`: the file's name, then what it measures.

        Keys and the type of each value stay the same from tick to tick; NaN stands for what nobody could read.
        """
        ...

    def close(self) -> None:
        """Release what the probe holds open; idempotent."""
        ...
