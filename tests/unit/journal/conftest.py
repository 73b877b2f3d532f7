"""Runs a test with both kinds of segments, whatever file system it is on."""

import pytest

from holter.journal import segment


@pytest.fixture(params=["mapped", "written"])
def kind_of_segment(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    kind = str(request.param)
    monkeypatch.setattr(segment, "keeps_reservations", lambda directory: kind == "mapped")
    return kind
