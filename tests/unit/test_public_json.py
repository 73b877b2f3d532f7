"""What programs read of runs stays the same, field for field, whichever door they take."""

import json
from pathlib import Path

import pytest

from tests.unit.public_json import EXPECTED, answers, make_runs


def test_every_json_of_a_run_is_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOLTER_DIR", str(tmp_path))
    make_runs(tmp_path)
    found, expected = answers(tmp_path), json.loads(EXPECTED.read_text())
    assert found.keys() == expected.keys()
    for name, answer in expected.items():
        assert found[name] == answer, name
