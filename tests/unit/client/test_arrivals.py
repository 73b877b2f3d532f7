"""A call is made when a module is imported, and not before."""

import importlib
import importlib.util
import sys
from pathlib import Path

import pytest

from holter.client.arrivals import when_imported


def test_who_only_asks_whether_a_module_is_there_does_not_use_up_the_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a_framework_to_come.py").write_text("ready = True\n")
    monkeypatch.syspath_prepend(tmp_path)
    calls: list[bool] = []
    when_imported("a_framework_to_come", lambda: calls.append(sys.modules["a_framework_to_come"].ready))
    assert importlib.util.find_spec("a_framework_to_come") is not None
    assert calls == []
    importlib.import_module("a_framework_to_come")
    importlib.reload(sys.modules["a_framework_to_come"])
    assert calls == [True]
    monkeypatch.delitem(sys.modules, "a_framework_to_come")


def test_a_module_that_is_not_there_is_not_there() -> None:
    when_imported("a_framework_that_nobody_has", lambda: None)
    for _ in range(2):
        assert importlib.util.find_spec("a_framework_that_nobody_has") is None
        with pytest.raises(ModuleNotFoundError):
            importlib.import_module("a_framework_that_nobody_has")
