"""The evidence of deaths as files: a death that has happened once is judged again in a millisecond.

`make zoo ZOO_ARGS=--record` writes one file for each mode below `recordings/evidence`, with the evidence that
`holter why` had before it when the fault was provoked for real; `test_recorded_deaths.py` judges all of them. Below
`recordings/reported` are those that people sent: what `holter why --wrong` printed, as it is.
"""

import lzma
import os
import platform
import re
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

from holter.catalog.judge.explaining import LEFT_IN_ORDER, unheard_request
from holter.catalog.present.impersonal import impersonal as without_names
from holter.diagnosis.ranking import diagnose
from holter.model.evidence import Evidence
from holter.model.state import FINISHED
from holter.model.verdicts import Diagnosis
from tests.zoo.modes import Mode

PLACE = Path(__file__).parent / "recordings" / "evidence"
REPORTED = Path(__file__).parent / "recordings" / "reported"
CHECKOUT = Path(__file__).parents[2]


class Death(msgspec.Struct, frozen=True, kw_only=True):
    """One death (or normal end) with all that was known about it, and what it was."""

    fault: str
    was_right: bool
    """What was said about it when it happened; from then on it must stay so."""
    evidence: Evidence


class Claimed(msgspec.Struct, frozen=True, kw_only=True):
    """What it was, from somebody who knows; `none` for a normal end."""

    cause: str
    reason: str


class Report(Death, frozen=True, kw_only=True):
    """A death of which somebody said that the verdict was wrong."""

    says: Claimed


def path_of(mode: Mode) -> Path:
    """Where the deaths of a mode are kept."""
    return PLACE / (re.sub(r"[^a-z]+", "-", mode.name) + ".jsonl.xz")


def read_deaths(path: Path) -> list[Death]:
    """All deaths of a file; none where it is not there."""
    if not path.exists():
        return []
    with lzma.open(path) if path.suffix == ".xz" else path.open("rb") as file:
        return [msgspec.json.decode(line, type=Death) for line in file]


def read_reports(path: Path) -> list[Report]:
    """All deaths of an export of `holter why --wrong`."""
    return [msgspec.json.decode(line, type=Report) for line in path.read_bytes().splitlines()]


def judge_again(evidence: Evidence) -> dict[str, Any]:
    """What the rules of today say, in the words of `holter why --json`."""
    return answer_of(diagnose(evidence), evidence)


def answer_of(diagnosis: Diagnosis, evidence: Evidence) -> dict[str, Any]:
    """A verdict as the zoo holds it against what really happened."""
    is_unsure = diagnosis.state == FINISHED and (any(unheard_request(evidence)) or not _is_known(evidence))
    confidence = LEFT_IN_ORDER if is_unsure else diagnosis.confidence
    return {
        "state": diagnosis.state,
        "cause": diagnosis.cause,
        "confidence": confidence,
        "grade": diagnosis.grade,
        "candidates": diagnosis.candidates,
    }


def _is_known(evidence: Evidence) -> bool:
    """Whether somebody saw or said how it left."""
    end = evidence.subject
    return end.status is not None or (end.finished is not None and end.finished.how in ("finish", "context"))


def keep_deaths(path: Path, deaths: Iterable[Death]) -> None:
    """Write them beside those of other faults that the file has; a fault that comes again takes the old one's place."""
    known = {death.fault: death for death in read_deaths(path)}
    known |= {death.fault: death for death in deaths}
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [msgspec.json.encode(known[name]) + b"\n" for name in sorted(known)]
    path.write_bytes(lzma.compress(b"".join(lines), preset=9 | lzma.PRESET_EXTREME))


def impersonal(evidence: Evidence, stage: Path) -> Evidence:
    """The same without the names of the machine, the checkout and the stage on which it happened."""
    return without_names(evidence, _names(stage))


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
