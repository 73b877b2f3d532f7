"""What every file in `probes/live` promises, checked on this machine."""

import importlib
import os
import pkgutil
from pathlib import Path
from types import ModuleType

import pytest

from holter.probes import live
from holter.probes.probe import Probe, Target
from holter.probes.tree import open_tree

SOURCES = [source.name for source in pkgutil.iter_modules(live.__path__)]


@pytest.fixture(params=SOURCES)
def source(request: pytest.FixtureRequest) -> ModuleType:
    return importlib.import_module(f"{live.__name__}.{request.param}")


@pytest.fixture
def target(tmp_path: Path) -> Target:
    return Target(roots=(os.getpid(),), tree=open_tree()([os.getpid()]), directory=str(tmp_path))


def sample_twice(probe: Probe, target: Target) -> list[dict[str, float | int]]:
    try:
        return [probe.sample(target), probe.sample(target)]
    finally:
        probe.close()


def test_it_says_what_it_looks_at(source: ModuleType) -> None:
    assert (source.__doc__ or "").strip().endswith(".")
    assert (source.open_probe.__doc__ or "").strip().endswith(".")


def test_its_keys_begin_with_its_name(source: ModuleType, target: Target) -> None:
    probe = source.open_probe()
    rows = sample_twice(probe, target) if probe else []
    name = source.__name__.rpartition(".")[2]
    assert [key for row in rows for key in row if not key.startswith(f"{name}/")] == []


def test_keys_and_types_are_the_same_at_every_tick(source: ModuleType, target: Target) -> None:
    probe = source.open_probe()
    rows = sample_twice(probe, target) if probe else [{}, {}]
    types = [{key: type(value) for key, value in row.items()} for row in rows]
    assert types[0] == types[1]
    assert set(types[0].values()) <= {int, float}


def test_keys_stay_when_the_target_is_gone(source: ModuleType, target: Target) -> None:
    probe = source.open_probe()
    if probe is None:
        return
    before = probe.sample(target)
    after = probe.sample(Target(roots=(), tree=(), directory=target.directory))
    probe.close()
    assert before.keys() == after.keys()


def test_closing_twice_is_closing_once(source: ModuleType, target: Target) -> None:
    probe = source.open_probe()
    if probe is None:
        return
    probe.sample(target)
    probe.close()
    probe.close()
