"""Guards what the web page and a server of the tests are made from: locks that are complete and name no address."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = ("ui", "tests/e2e/oidc")

Lock = dict[str, dict[str, Any]]
# npm leaves out of a lock, without a word, what its registry does not have at the moment: then it can be installed on
# one platform only.
NATIVE = ("rolldown", "lightningcss")


def lock_of(folder: str) -> Lock:
    found: Lock = json.loads((ROOT / folder / "package-lock.json").read_text())["packages"]
    return found


def locked(lock: Lock, name: str) -> list[str]:
    return [path for path in lock if path == f"node_modules/{name}" or path.endswith(f"/node_modules/{name}")]


@pytest.mark.parametrize("package", NATIVE)
def test_the_lock_has_the_binaries_of_every_platform(package: str) -> None:
    lock = lock_of("ui")
    (path,) = locked(lock, package)
    wanted = lock[path]["optionalDependencies"]
    assert len(wanted) >= 10
    assert [name for name in wanted if not locked(lock, name)] == []


@pytest.mark.parametrize("folder", FOLDERS)
def test_nothing_that_a_package_of_the_lock_may_want_is_missing(folder: str) -> None:
    lock = lock_of(folder)
    wanted = {path: each.get("optionalDependencies", {}) for path, each in lock.items()}
    assert {path: name for path, names in wanted.items() for name in names if not locked(lock, name)} == {}


@pytest.mark.parametrize("folder", FOLDERS)
def test_everything_in_the_lock_has_a_hash_and_no_address(folder: str) -> None:
    lock = lock_of(folder)
    # Where authors ask for donations is not where packages come from.
    told = {path: {name: value for name, value in each.items() if name != "funding"} for path, each in lock.items()}
    assert re.findall(r"\w+://[^\"]+", json.dumps(told)) == []
    assert [path for path, each in lock.items() if "resolved" in each] == []
    assert [path for path, each in lock.items() if path and "integrity" not in each] == []


@pytest.mark.parametrize("folder", FOLDERS)
def test_the_versions_are_exact_and_those_of_the_lock(folder: str) -> None:
    lock = lock_of(folder)
    package = json.loads((ROOT / folder / "package.json").read_text())
    kinds = {kind: package.get(kind, {}) for kind in ("dependencies", "devDependencies")}
    assert {kind: lock[""].get(kind, {}) for kind in kinds} == kinds
    wanted = {**kinds["dependencies"], **kinds["devDependencies"], **package.get("overrides", {})}
    assert {name: version for name, version in wanted.items() if not re.fullmatch(r"\d+\.\d+\.\d+", version)} == {}
    assert {name for name in wanted if locked(lock, name) == []} == set()


def test_the_page_is_built_without_what_only_tests_need() -> None:
    assert locked(lock_of("ui"), "oidc-provider") == []
