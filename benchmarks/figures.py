"""What a measure hands back: figures with their bars, tables beside them, remarks."""

import statistics
from collections.abc import Sequence
from typing import Any

import msgspec


class Figure(msgspec.Struct, frozen=True, kw_only=True):
    """One number. Without a bar it is there for comparison only."""

    name: str
    measured: float | None
    """None where it could not be measured here; a note says why."""
    unit: str = ""
    at_most: float | None = None

    @property
    def verdict(self) -> str:
        if self.measured is None:
            return "not measured"
        if self.at_most is None:
            return ""
        return "met" if self.measured <= self.at_most else "missed"


class Table(msgspec.Struct, frozen=True):
    """What stands behind the figures."""

    title: str
    head: list[str]
    rows: list[list[str]]


class Measured(msgspec.Struct, kw_only=True):
    """All that one measure found. `raw` holds each repetition, for whoever doubts a median."""

    figures: list[Figure]
    tables: list[Table] = []
    notes: list[str] = []
    raw: dict[str, Any] = {}


def show(value: float | None, unit: str = "") -> str:
    """Three digits are as many as these measurements carry."""
    if value is None:
        return "–"
    digits = f"{value:,.0f}" if abs(value) >= 100 or value == int(value) else f"{value:.3g}"
    return f"{digits} {unit}".rstrip()


def median(values: Sequence[float]) -> float:
    return float(statistics.median(values))


def median_ratio(values: Sequence[float], references: Sequence[float]) -> float:
    """The median of the ratios within each repetition: what slows the machine down slows both."""
    return median([value / reference for value, reference in zip(values, references, strict=True)])
