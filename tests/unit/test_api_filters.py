"""Runs of the local directory are found by the same fields as a server's."""

import pytest

from holter.api.recorded_runs import Api
from tests.unit.public_json import make_runs


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Api:
    data = tmp_path_factory.mktemp("runs-of-all-kinds")
    make_runs(data)
    return Api(directory=data)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("because ~ sigkill", ["crashed", "marked"]),
        ("because ~ 'wrong data'", ["marked", "marked-well"]),
        ("duration_s > 60 and state = finished", ["resumed"]),
        ("started_at > 2100-01-01", []),
        ("tags = best and state = finished", ["finished"]),
        ("attempt = 2", ["resumed"]),
    ],
)
def test_a_filter_finds_the_runs_that_it_says(api: Api, text: str, found: list[str]) -> None:
    assert sorted(run.id for run in api.runs(filter=text)) == found
