"""Plays a recorded run to the guards."""

import functools
import gzip
import json
from pathlib import Path
from typing import Any

import msgspec

from holter.guards.patrol import open_patrol
from holter.guards.progress import Progress
from holter.guards.seen import Seen
from holter.model.warning_records import Warned

TRACES = Path(__file__).parent / "traces"


class Trace(msgspec.Struct, frozen=True):
    was_killed: bool
    at_s: list[float]
    rows_s: list[float]
    constant: dict[str, float | None]
    columns: dict[str, list[float | None]]

    @property
    def length_s(self) -> float:
        return self.at_s[-1]


class Said(msgspec.Struct, frozen=True):
    at_s: float
    warned: Warned

    @property
    def guard(self) -> str:
        return self.warned.guard


@functools.cache
def load(name: str) -> Trace:
    with gzip.open(TRACES / f"{name}.json.gz") as file:
        return msgspec.convert(json.load(file), Trace)


def names() -> list[str]:
    return sorted(path.name.removesuffix(".json.gz") for path in TRACES.glob("*.json.gz"))


def play(trace: Trace) -> list[Said]:
    """What was said to people, and when."""
    patrol, progress, rows = open_patrol(), Progress(), list(trace.rows_s)
    said: list[Said] = []
    step = 0
    for number, at_s in enumerate(trace.at_s):
        new = 0
        while rows and rows[0] <= at_s:
            at_row = rows.pop(0)
            new += 1
        if new:
            step += new
            progress.advance(at_row, rows=new, step=step)
        row: dict[str, Any] = {key: _value(value) for key, value in trace.constant.items()}
        row |= {key: _value(column[number]) for key, column in trace.columns.items()}
        seen = Seen(now_s=at_s, now_ns=int(at_s * 1e9), row=row, progress=progress)
        said += [
            Said(at_s, told.record) for told in patrol.look(seen) if told.is_said and isinstance(told.record, Warned)
        ]
    return said


def _value(value: float | None) -> float:
    return float("nan") if value is None else value
