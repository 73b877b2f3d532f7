"""Histograms of many steps as one picture."""

import math

import pytest

from holter.journal.decoding import Told
from holter.journal.place import Piece
from holter.model.media_records import HistogramLogged
from holter.server.ingest.media import media_of
from holter.server.query.media import HeatMap, heat_maps
from holter.storage.media import MediaQuery
from tests.engines.memory import MemoryMedia


def drawn(*told: HistogramLogged, columns: int = 10, rows: int = 4) -> HeatMap | None:
    store = MemoryMedia()
    store.add("run", media_of(Told(Piece(b"", [], 0, 0, 0), records=[(1, each) for each in told])))
    found = heat_maps(store, ["run"], query=MediaQuery(key="g", most=1000), columns=columns, rows=rows)
    return found[0] if found else None


def histogram(step: int, counts: list[float], low: float = 0.0, high: float = 0.0, **rest: object) -> HistogramLogged:
    return HistogramLogged(at_ns=step, step=step, key="g", counts=tuple(counts), low=low, high=high, **rest)  # type: ignore[arg-type]  # as a test says it


def test_counts_are_spread_over_parts_that_all_steps_share() -> None:
    found = drawn(
        histogram(0, [1, 3], 0, 2),
        histogram(1, [2, 2], 2, 4),
        histogram(2, [8], 0, 4),
        histogram(3, [1, 1], edges=(0.0, 1.0, 4.0)),
    )
    assert found is not None
    assert (found.low, found.high, found.steps) == (0, 4, [0, 1, 2, 3])
    expected = [[0.25, 0.75, 0, 0], [0, 0, 0.5, 0.5], [0.25] * 4, [0.5, *[pytest.approx(1 / 6, abs=1e-5)] * 3]]
    assert found.counts == expected


def test_steps_that_are_too_many_share_a_column_that_is_called_by_the_last() -> None:
    found = drawn(*(histogram(step, [1, step], 0, 2) for step in range(6)), columns=2, rows=2)
    assert found is not None
    assert found.steps == [2, 5]
    assert found.counts == [[0.5, 0.5], [0.2, 0.8]]


def test_runs_share_a_range_unless_one_would_flatten_the_others() -> None:
    store = MemoryMedia()
    for run, high in (("a", 1.0), ("b", 2.0), ("diverged", 1e6)):
        told = histogram(0, [1, 1], 0, high)
        store.add(run, media_of(Told(Piece(b"", [], 0, 0, 0), records=[(1, told)])))

    def ranges(*runs: str) -> list[tuple[str, float]]:
        found = heat_maps(store, runs, query=MediaQuery(key="g", most=1000), columns=5, rows=4)
        return [(each.run, each.high) for each in found]

    assert ranges("a", "nothing", "b") == [("a", 2), ("b", 2)]
    assert ranges("a", "b", "diverged") == [("a", 1), ("b", 2), ("diverged", 1e6)]


def test_what_is_no_histogram_is_left_out() -> None:
    wrong = [
        histogram(0, [1], 1, 1),
        histogram(1, [1], 0, math.inf),
        histogram(2, [math.nan, 1], 0, 1),
        histogram(3, [1e308, 1e308], 0, 1),
        histogram(4, [-1, 2], 0, 1),
        histogram(5, [1, 1], edges=(0.0, 2.0, 1.0)),
    ]
    assert drawn(*wrong) is None
    found = drawn(*wrong, histogram(6, [1], 0, 1))
    assert found is not None
    assert found.steps == [6]
