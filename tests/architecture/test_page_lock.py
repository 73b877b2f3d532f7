"""Guards what the web page is built from: a lock file that is complete everywhere and names no address."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

UI = Path(__file__).parents[2] / "ui"
LOCK: dict[str, dict[str, Any]] = json.loads((UI / "package-lock.json").read_text())["packages"]
# npm leaves out of a lock, without a word, what its registry does not have at the moment: then it can be installed on
# one platform only.
NATIVE = ("rolldown", "lightningcss")


def locked(name: str) -> list[str]:
    return [path for path in LOCK if path == f"node_modules/{name}" or path.endswith(f"/node_modules/{name}")]


@pytest.mark.parametrize("package", NATIVE)
def test_the_lock_has_the_binaries_of_every_platform(package: str) -> None:
    (path,) = locked(package)
    wanted = LOCK[path]["optionalDependencies"]
    assert len(wanted) >= 10
    assert [name for name in wanted if not locked(name)] == []


def test_nothing_that_a_package_of_the_lock_may_want_is_missing() -> None:
    wanted = {path: each.get("optionalDependencies", {}) for path, each in LOCK.items()}
    assert {path: name for path, names in wanted.items() for name in names if not locked(name)} == {}


def test_everything_in_the_lock_has_a_hash_and_no_address() -> None:
    # Where authors ask for donations is not where packages come from.
    told = {path: {name: value for name, value in each.items() if name != "funding"} for path, each in LOCK.items()}
    assert re.findall(r"\w+://[^\"]+", json.dumps(told)) == []
    assert [path for path, each in LOCK.items() if "resolved" in each] == []
    assert [path for path, each in LOCK.items() if path and "integrity" not in each] == []


def test_the_versions_are_exact() -> None:
    package = json.loads((UI / "package.json").read_text())
    wanted = {**package["dependencies"], **package["devDependencies"], **package["overrides"]}
    assert {name: version for name, version in wanted.items() if not re.fullmatch(r"\d+\.\d+\.\d+", version)} == {}
    assert {name for name in wanted if locked(name) == []} == set()
