"""What is loaded at every start."""

import importlib
import pkgutil
import subprocess
import sys
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from holter.diagnosis import rules
from holter.lean import _Absent, modules_in


def test_only_the_thread_that_loads_msgspec_finds_nothing() -> None:
    finder = _Absent()
    with ThreadPoolExecutor(1) as another:
        assert another.submit(finder.find_spec, "typing_extensions").result() is None
    assert finder.find_spec("json") is None  # type: ignore[func-returns-value]  # that is the point
    with pytest.raises(ModuleNotFoundError, match="typing_extensions"):
        finder.find_spec("typing_extensions")


def test_the_modules_of_a_folder_are_those_that_pkgutil_finds() -> None:
    assert modules_in(rules) == sorted(module.name for module in pkgutil.iter_modules(rules.__path__))


def test_the_modules_of_an_archive_are_found_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with zipfile.ZipFile(tmp_path / "archive.zip", "w") as archive:
        for name in ("__init__", "one", "two"):
            archive.writestr(f"packed_rules/{name}.py", "")
    monkeypatch.syspath_prepend(str(tmp_path / "archive.zip"))
    assert modules_in(importlib.import_module("packed_rules")) == ["one", "two"]


def test_what_msgspec_seldom_needs_is_loaded_when_it_is_used() -> None:
    program = """
import sys
import holter
holter.init
import msgspec, uuid
assert not {"platform", "textwrap", "msgspec.inspect"} & sys.modules.keys()
assert uuid._LINUX == sys.platform.startswith("linux")
assert msgspec.inspect.type_info(int) == msgspec.inspect.IntType()
assert msgspec.json.schema(dict[str, int])["type"] == "object"
import platform, textwrap
assert uuid.platform.machine() == platform.machine()
assert sys.modules["msgspec.inspect"] is msgspec.inspect
assert textwrap.dedent("  a") == "a"
"""
    subprocess.run([sys.executable, "-c", program], check=True)
