"""Whether a server is ready, how far its index is behind, and how its figures are written."""

from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from holter.errors import Refused
from holter.server.domain.services import ServerSettings, Services
from holter.server.exposition import Family, Sample, render
from holter.server.operation import judge, metrics
from holter.server.security.access import Visitor
from holter.server.transport.routing import Nothing, Visit
from holter.storage.places import Places

GIB = 1 << 30


@pytest.mark.parametrize(
    ("trouble", "lag_s", "free_bytes", "because"),
    [
        ("", 0.0, GIB, []),
        ("", 59.0, GIB, []),
        ("", 61.0, GIB, ["the index is 61 s behind what was received"]),
        ("", 0.0, 5 << 20, ["only 5 MiB are free on its disk"]),
        ("full", 0.0, 0, ["full", "only 0 MiB are free on its disk"]),
    ],
)
def test_a_server_is_ready_while_what_comes_is_soon_seen(
    trouble: str, lag_s: float, free_bytes: int, because: list[str]
) -> None:
    found = judge(trouble=trouble, lag_s=lag_s, free_bytes=free_bytes)
    assert (found.ready, found.because) == (not because, because)


def test_whatever_is_in_a_label_is_read_back() -> None:
    said = 'a "quoted" \\ word\non two lines'
    [family] = text_string_to_metric_families(
        render([Family("m_total", "counter", "About.", [Sample(2, {"x": said})])]).decode()
    )
    assert [(sample.name, sample.labels, sample.value) for sample in family.samples] == [("m_total", {"x": said}, 2.0)]


def test_who_came_by_a_link_sees_runs_and_not_the_server(tmp_path: Path) -> None:
    services = Services(ServerSettings(data=str(tmp_path), places=Places.at("memory:"), token="t"), {})
    known = Visitor(id="k", name="ada", scope="read")
    assert b"holter_index_lag_seconds 0\n" in metrics(Visit(services=services, visitor=known), Nothing()).data
    guest = Visitor(id="g", name="a link of ada", scope="read", runs=("r1",))
    with pytest.raises(Refused, match="a link shows runs"):
        metrics(Visit(services=services, visitor=guest), Nothing())
    services.close()
