"""Where runs went on from a checkpoint, and what earlier attempts had done behind there, as the journals keep it."""

from collections.abc import Iterator
from functools import partial

import msgspec
import numpy as np

from holter.catalog.read.loaded_run import PROGRAM
from holter.journal.digest import GrowingDigest, read_opened
from holter.journal.rewinding import rewinds_of
from holter.journal.rundir import list_segments
from holter.server.ingest.columns import rows_of
from holter.storage.series import Floats, Ints

MOST_POINTS = 200


class Curve(msgspec.Struct, frozen=True):
    """Values by step and by time, in seconds since 1970; of many, some of them, the last one always there."""

    steps: list[int]
    times: list[float]
    values: list[float]


class Resume(msgspec.Struct, frozen=True, kw_only=True):
    """An attempt that went on behind the first one: from which step, when, and how many steps were done again."""

    attempt: int
    step: int
    at: float
    steps_lost: int
    lost: dict[str, Curve] = {}
    """What the attempt before it had logged from there on, by key; no key of which it had nothing there."""
    is_rewind: bool = False
    """It went back there on purpose: what all earlier attempts had done from there on is abandoned."""


class _Attempt:
    """The points of one attempt, by key."""

    def __init__(self) -> None:
        self.first: tuple[int, int] | None = None
        self.last_step = 0
        self.points: dict[str, list[tuple[Ints, Ints, Floats]]] = {}
        self.back_to: int | None = None
        """The last step of earlier attempts that it left to count."""

    def add(self, steps: Ints, at_ns: Ints, columns: dict[str, Floats], /) -> None:
        least = int(steps.argmin())
        if self.first is None or int(steps[least]) < self.first[0]:
            self.first = int(steps[least]), int(at_ns[least])
        self.last_step = max(self.last_step, int(steps.max()))
        for key, values in columns.items():
            self.points.setdefault(key, []).append((steps, at_ns, values))

    def cut(self, step: int) -> "_Attempt":
        """What is left of it where what is behind a step is abandoned."""
        left = _Attempt()
        for key, parts in self.points.items():
            for steps, at_ns, values in parts:
                kept = steps <= step
                if kept.any():
                    left.add(steps[kept], at_ns[kept], {key: values[kept]})
        return left

    def join(self, later: "_Attempt") -> None:
        """Take in what a later one has."""
        self.last_step = max(self.last_step, later.last_step)
        for key, parts in later.points.items():
            self.points.setdefault(key, []).extend(parts)

    def behind(self, step: int) -> Iterator[tuple[str, Curve]]:
        for key, parts in self.points.items():
            steps, at_ns, values = (np.concatenate(column) for column in zip(*parts, strict=True))
            is_lost = (steps >= step) & np.isfinite(values)
            if not is_lost.any():
                continue
            steps, at_ns, values = steps[is_lost], at_ns[is_lost], values[is_lost]
            order = np.argsort(steps, kind="stable")
            shown = order[:: -max(1, -(-len(order) // MOST_POINTS))][::-1]
            yield key, Curve(steps[shown].tolist(), (at_ns[shown] / 1e9).tolist(), values[shown].tolist())


def find_resumes(directory: str) -> list[Resume]:
    """Of a run, in the order of its attempts; those that logged nothing are no attempts here. Raises OSError."""
    attempts: dict[int, _Attempt] = {}
    for journal, paths in list_segments(directory).items():
        opened = read_opened(paths[0])
        if opened is not None and opened.writer in PROGRAM:
            _read(journal, paths, attempts.setdefault(opened.attempt, _Attempt()))
    told = [(number, each, each.first) for number, each in sorted(attempts.items()) if each.first is not None]
    found: list[Resume] = []
    left: list[_Attempt] = []
    for number, each, (first, at_ns) in told:
        if left:
            after = first if each.back_to is None else each.back_to + 1
            gone = left[-1] if each.back_to is None else _joined(left)
            found.append(
                Resume(
                    attempt=number,
                    step=after if each.back_to is None else each.back_to,
                    at=at_ns / 1e9,
                    steps_lost=max(0, gone.last_step - after + 1),
                    lost=dict(gone.behind(after)),
                    is_rewind=each.back_to is not None,
                )
            )
        if each.back_to is not None:
            left = [other.cut(each.back_to) for other in left]
        left.append(each)
    return found


def _joined(attempts: list[_Attempt]) -> _Attempt:
    joined = _Attempt()
    for each in attempts:
        joined.join(each)
    return joined


def _read(journal: str, paths: list[str], attempt: _Attempt, /) -> None:
    growing = GrowingDigest(journal, partial(list, paths))
    growing.place.start(paths, 0)
    for told in growing.read(paths, is_final=True):
        for rows in rows_of(told):
            attempt.add(rows.steps, rows.at_ns, dict(zip(rows.keys, rows.values, strict=True)))
    if growing.digest is not None:
        attempt.back_to = min(rewinds_of([growing.digest]).values(), default=attempt.back_to)
