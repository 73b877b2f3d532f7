"""Whether a server is ready, how far its index is behind, and how its figures are written."""

import pytest
from prometheus_client.parser import text_string_to_metric_families

from holter.server.exposition import Family, Sample, render
from holter.server.operation import judge

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
