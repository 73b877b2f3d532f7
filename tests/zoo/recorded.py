"""The evidence of deaths as files: a death that has happened once is judged again in a millisecond.

`make zoo ZOO_ARGS=--record` writes one file for each mode below `recordings/evidence`, with the evidence that
`holter why` had before it when the fault was provoked for real; `test_recorded_deaths.py` judges all of them.
"""

import json
import lzma
import os
import platform
import re
import socket
import sys
from collections.abc import Iterable
from pathlib import Path

import msgspec

from holter.model.evidence import Evidence, Memory
from tests.zoo.modes import Mode

PLACE = Path(__file__).parent / "recordings" / "evidence"
CHECKOUT = Path(__file__).parents[2]
PRIVATE_FACTS = ("cpu_model", "environment", "gpus", "packages")
LINES_KEPT = 200
"""Of the console: what is said before that decides nothing."""


class Death(msgspec.Struct, frozen=True, kw_only=True):
    """One death (or normal end) with all that was known about it, and what it was."""

    fault: str
    was_right: bool
    """What was said about it when it happened; from then on it must stay so."""
    evidence: Evidence


def path_of(mode: Mode) -> Path:
    """Where the deaths of a mode are kept."""
    return PLACE / (re.sub(r"[^a-z]+", "-", mode.name) + ".jsonl.xz")


def read_deaths(path: Path) -> list[Death]:
    """All deaths of a file; none where it is not there."""
    if not path.exists():
        return []
    with lzma.open(path) as file:
        return [msgspec.json.decode(line, type=Death) for line in file]


def keep_deaths(path: Path, deaths: Iterable[Death]) -> None:
    """Write them beside those of other faults that the file has; a fault that comes again takes the old one's place."""
    known = {death.fault: death for death in read_deaths(path)}
    known |= {death.fault: death for death in deaths}
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [msgspec.json.encode(known[name]) + b"\n" for name in sorted(known)]
    path.write_bytes(lzma.compress(b"".join(lines), preset=9 | lzma.PRESET_EXTREME))


def impersonal(evidence: Evidence, stage: Path) -> Evidence:
    """The same without the names of the machine, the checkout and the stage on which it happened."""
    evidence = msgspec.structs.replace(
        evidence,
        said=evidence.said[-LINES_KEPT:],
        memory=_without_neighbours(evidence.memory),
        memory_of={pid: _without_neighbours(memory) for pid, memory in evidence.memory_of.items()},
        facts={name: value for name, value in evidence.facts.items() if name not in PRIVATE_FACTS},
    )
    text = msgspec.json.encode(evidence).decode()
    for real, public in _names(stage):
        text = text.replace(json.dumps(real)[1:-1], public)
    text = text.replace(f'"{socket.gethostname()}"', '"node-1"')  # as a part of other words it means something else
    return msgspec.json.decode(text, type=Evidence)


def _without_neighbours(memory: Memory) -> Memory:
    """Who else was on the machine is told by sizes alone."""
    if memory.holders is None:
        return memory
    holders = [each if each.is_ours else msgspec.structs.replace(each, name="neighbour") for each in memory.holders]
    return msgspec.structs.replace(memory, holders=tuple(holders))


def _names(stage: Path) -> Iterable[tuple[str, str]]:
    yield str(stage), "/stage"
    yield stage.name, "stage"
    yield str(stage.parent), "/zoo"
    yield os.environ["PATH"], "/usr/bin:/bin"
    yield str(CHECKOUT), "/home/ann/holter"
    yield sys.base_prefix, "/usr"
    yield os.path.realpath(sys.executable), "/usr/bin/python3"
    yield platform.release(), platform.release().partition("-")[0]
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        cgroup = Path(line.split(":", 2)[2])
        if len(cgroup.parts) > 1:
            yield str(cgroup), "/user.slice/zoo.scope"
            yield f"/{cgroup.parts[1]}", "/user.slice"
