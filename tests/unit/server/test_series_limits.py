"""No request has the server hold more points at once than it can, whatever it asks for."""

from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from holter.api import remote
from holter.api.remote import RemoteSource
from holter.errors import UsageError
from holter.server.api import series as module
from holter.server.api.series import AskedPoints, AskedSeries, points, series
from holter.server.transport.routing import Visit
from holter.storage.opening import open_storage
from holter.storage.series import Rows, SeriesBatch
from holter.wire.binary_columns import decode_tables
from holter.wire.connection import Answer, Connection

STEPS = 100


@pytest.fixture
def visit() -> Visit:
    """Somebody who asks about a run with 100 points of each of `a`, `b` and `c`."""
    storage = open_storage("memory:")
    at = np.arange(STEPS, dtype=np.int64)
    values = np.stack([at * 1.0, at * 2.0, at * 3.0])
    rows = Rows(("a", "b", "c"), at, at * 1_000_000_000, at, values)
    storage.series.append(SeriesBatch("r1", "a" * 32, 0, STEPS, (rows,)))
    return cast("Visit", SimpleNamespace(services=SimpleNamespace(storage=storage)))


def test_all_series_of_a_request_count_together(visit: Visit, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_POINTS", 200)
    assert len(decode_tables(points(visit, AskedPoints(run="r1", keys="a,b")).data)) == 2
    with pytest.raises(UsageError, match=r"more than 200 points.*fewer keys.*`from`"):
        points(visit, AskedPoints(run="r1", keys="a,b,c"))


def test_no_more_is_read_than_is_answered(visit: Visit) -> None:
    read: list[int | None] = []
    store = visit.services.storage.series

    class Counted:
        def points(self, *args: Any, most: int | None = None, **more: Any) -> Any:  # noqa: ANN401  whatever comes
            read.append(most)
            return store.points(*args, most=most, **more)

    counting = cast("Visit", SimpleNamespace(services=SimpleNamespace(storage=SimpleNamespace(series=Counted()))))
    [(about, columns)] = decode_tables(points(counting, AskedPoints(run="r1", key="b", limit=30)).data)
    assert (about["is_cut"], columns["step"].tolist()) == (True, list(range(30)))
    assert read == [31]


def test_lines_and_buckets_count_together(visit: Visit) -> None:
    with pytest.raises(UsageError, match=r"20,000 buckets.*fewer"):
        series(visit, AskedSeries(runs=["r1"], keys=["a"] * 1000, buckets=20_000))


def test_a_client_gets_a_long_series_page_by_page_and_whole(visit: Visit, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote, "POINTS_AT_ONCE", 30)
    asked: list[dict[str, Any]] = []

    class Wire:
        def ask(self, method: str, path: str, *, query: dict[str, Any], data: bytes) -> Answer:
            asked.append(query)
            named = {name: value for name, value in query.items() if value is not None}
            first = named.pop("from", None)
            return Answer(200, points(visit, AskedPoints(run="r1", first=first, **named)).data)

    found = RemoteSource(cast("Connection", Wire())).series("r1", "c")
    assert found.steps.tolist() == list(range(STEPS))
    assert found.values.tolist() == [step * 3.0 for step in range(STEPS)]
    assert [each["from"] for each in asked] == [None, 30, 60, 90]
