"""The form of a fault: a program that ends in a known way, and what must be said about it.

A file of `tests/zoo/faults` is a kind of fault and has a list `FAULTS`; one whose name begins with `held_` holds faults
that nobody may tune a rule against, and that only `make zoo` runs; `--only fifth_` takes the edition of that name.
Nothing else is to be registered.
"""

import importlib
import pkgutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from tests.zoo import faults
from tests.zoo.scene import Scene

OPEN, HELD = "open", "held"
PYTHON = sys.executable
SCRIPT = "{script}"
TRAINING: tuple[str, ...] = (PYTHON, SCRIPT)

MIB = 1 << 20


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """What surrounds the program."""

    memory_bytes: int = 0
    """The limit of a cgroup of its own."""
    parent_memory_bytes: int = 0
    """The limit of the cgroup above its own."""
    tasks: int = 0
    """The most processes and threads in a cgroup of its own."""
    disks: tuple[tuple[str, str], ...] = ()
    """Small disks that only the program sees: where (`/dev/shm`, or a name below the stage), and tmpfs options."""
    limits: tuple[str, ...] = ()
    """As prlimit(1) wants them, such as `--nofile=64`."""
    has_terminal: bool = False
    is_user: bool = False
    """It is an ordinary user's, in every mode."""
    environ: tuple[tuple[str, str], ...] = ()
    job: tuple[str, ...] = ()
    """It is a job of SLURM with these options of sbatch(1)."""


class Fault(msgspec.Struct, frozen=True, kw_only=True):
    """One way to end. `program` is a Python script that begins with `begin()` of `tests/zoo/programs/training.py`."""

    name: str
    """Unique in the zoo, readable behind «a training that …»."""
    program: str
    ends: tuple[int, ...] = ()
    """What the parent must see, negative for a signal: who ends otherwise did not suffer the fault."""
    job_states: tuple[str, ...] = ()
    """What the scheduler must say in place of that."""
    state: str
    cause: str | None = None
    """None for a normal end."""
    also: tuple[str, ...] = ()
    """Causes that are as true as `cause`; they need a reason."""
    command: tuple[str, ...] = TRAINING
    strike: Callable[[Scene], None] | None = None
    """What somebody outside does to it, once it has begun."""
    place: Place = Place()
    needs: tuple[str, ...] = ()
    """Beyond what `place` tells: `torch`, `gcc`, `slurm`, `x86-64`."""
    processes: int = 1
    """How many of them call `begin()`."""
    run_state: str = ""
    """Where `holter run` alone watched and the command outlived the process that died: the state of the command."""
    without_client: tuple[str | None, ...] = ()
    """The causes that can be told from outside, where rows of the journal decide."""
    takes_s: float = 90.0
    """It is over by then."""
    kind: str = ""
    share: str = OPEN

    @property
    def truths(self) -> tuple[str | None, ...]:
        """Every cause that is right."""
        return (self.cause, *self.also)


def load_faults() -> list[Fault]:
    """All faults, by the names of their files and their order there. Raises ValueError for a name that comes twice."""
    found = list(_walk())
    names = [fault.name for fault in found]
    if twice := {name for name in names if names.count(name) > 1}:
        raise ValueError(f"two faults are called {sorted(twice)}: give one of them another name")
    return found


def _walk() -> Iterator[Fault]:
    for module in sorted(pkgutil.iter_modules(faults.__path__), key=lambda module: module.name):
        share = HELD if module.name.startswith("held_") else OPEN
        kind = module.name.removeprefix("held_")
        loaded = importlib.import_module(f"{faults.__name__}.{module.name}")
        opened = getattr(loaded, "OPENED", ())  # those for which a rule was mended
        for fault in loaded.FAULTS:
            yield msgspec.structs.replace(fault, kind=kind, share=OPEN if fault.name in opened else share)


def source(name: str) -> str:
    """The text of a longer program in `tests/zoo/programs`."""
    return (Path(__file__).parent / "programs" / name).read_text()
