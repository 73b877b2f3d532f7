"""What the tests of frameworks share. `make frameworks` runs them, in an environment of their own."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import holter
from holter.api.recorded_runs import Api

os.environ.setdefault("KERAS_BACKEND", "torch")

# Elsewhere the frameworks are missing; tests/contract has what can be tried without them.
collect_ignore_glob = [] if os.environ.get("HOLTER_FRAMEWORKS") else ["test_*.py"]


@pytest.fixture(autouse=True)
def own_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("HOLTER_DIR", str(tmp_path / "holter"))
    monkeypatch.setenv("HOLTER_STRICT", "1")
    monkeypatch.setenv("HOLTER_SILENT", "1")
    monkeypatch.setenv("HOLTER_MODE", "offline")
    monkeypatch.chdir(tmp_path)
    yield
    holter.finish()


@pytest.fixture
def recorded() -> Callable[[], Any]:
    """The only run there is, once the program has ended it."""

    def look() -> Any:
        holter.finish()
        (run,) = Api().runs()
        return run

    return look
