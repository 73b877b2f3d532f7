"""The trackers that are compared, each behind the same four calls.

Standard library only, because this also runs in the environment of the peers; each tracker is as it comes out of the
box, except that it must not reach the network (see `trials.py`).
"""

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Protocol

from benchmarks.limits import MappedLimit


class Tracker(Protocol):
    """`load` imports, `open` starts a run, `log` is what is measured, `finish` ends the run."""

    def load(self) -> None: ...

    def open(self) -> None: ...

    def log(self, row: dict[str, float], step: int) -> None: ...

    def finish(self) -> None: ...


class NoTracker:
    """The program without any."""

    def __init__(self, directory: Path) -> None: ...

    def load(self) -> None: ...

    def open(self) -> None: ...

    def log(self, row: dict[str, float], step: int) -> None: ...

    def finish(self) -> None: ...


class Holter:
    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def load(self) -> None:
        self._holter = import_module("holter")

    def open(self) -> None:
        self._run = self._holter.init(project="bench", dir=str(self._directory))

    def log(self, row: dict[str, float], step: int) -> None:
        self._run.log(row, step=step)

    def finish(self) -> None:
        self._run.finish()


class WandbOffline:
    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def load(self) -> None:
        self._wandb = import_module("wandb")

    def open(self) -> None:
        self._run = self._wandb.init(project="bench", dir=str(self._directory), mode="offline")

    def log(self, row: dict[str, float], step: int) -> None:
        self._run.log(row, step=step)

    def finish(self) -> None:
        self._run.finish()


class Trackio:
    def __init__(self, directory: Path) -> None: ...

    def load(self) -> None:
        self._trackio = import_module("trackio")

    def open(self) -> None:
        self._trackio.init(project="bench", name="run")

    def log(self, row: dict[str, float], step: int) -> None:
        self._trackio.log(row, step=step)

    def finish(self) -> None:
        self._trackio.finish()


TRACKERS: dict[str, Callable[[Path], Tracker]] = {
    "none": NoTracker,
    "limit": MappedLimit,
    "holter": Holter,
    "wandb": WandbOffline,
    "trackio": Trackio,
}
PEERS = ("wandb", "trackio")
LABELS = {
    "none": "no tracker",
    "limit": "limit: msgpack, checksum, copy into a mapped file",
    "holter": "holter",
    "wandb": "wandb offline",
    "trackio": "trackio",
}
