"""All probes together."""

import math
import os
from pathlib import Path

import pytest

from holter.probes import live
from holter.probes.loading import load_probes
from holter.probes.probe import Target
from holter.probes.sampler import Sampler, open_sampler


class FlakyProbe:
    """Fails whenever it is told to."""

    def __init__(self) -> None:
        self.error: Exception | None = None
        self.seen: list[Target] = []

    def sample(self, target: Target) -> dict[str, float | int]:
        self.seen.append(target)
        if self.error:
            raise self.error
        return {"flaky/value": 1.0}

    def close(self) -> None:
        if self.error:
            raise self.error


class SteadyProbe:
    def __init__(self) -> None:
        self.closed = 0

    def sample(self, target: Target) -> dict[str, float | int]:
        return {"steady/count": 3}

    def close(self) -> None:
        self.closed += 1


def test_every_key_says_that_it_is_of_the_system() -> None:
    sampler = Sampler({"flaky": FlakyProbe(), "steady": SteadyProbe()}, tuple)
    assert sampler.sample([1], "/") == {"system/flaky/value": 1.0, "system/steady/count": 3}


def test_a_probe_that_fails_costs_only_its_own_values_and_is_tried_again() -> None:
    flaky = FlakyProbe()
    sampler = Sampler({"flaky": flaky, "steady": SteadyProbe()}, tuple)
    sampler.sample([1], "/")
    flaky.error = ValueError("the driver went away")
    failed = sampler.sample([1], "/")
    flaky.error = None
    assert math.isnan(failed["system/flaky/value"])
    assert failed["system/steady/count"] == 3
    assert sampler.sample([1], "/")["system/flaky/value"] == 1.0


def test_only_the_first_failure_of_a_probe_is_remembered() -> None:
    flaky = FlakyProbe()
    sampler = Sampler({"flaky": flaky}, tuple)
    for message in ("first", "second"):
        flaky.error = ValueError(message)
        sampler.sample([1], "/")
    assert sampler.failures == {"flaky": "ValueError: first"}


def test_the_tree_is_found_once_and_given_to_every_probe() -> None:
    flaky = FlakyProbe()
    Sampler({"flaky": flaky}, lambda roots: (*roots, 8, 9)).sample([7], "/runs/1")
    assert flaky.seen == [Target(roots=(7,), tree=(7, 8, 9), directory="/runs/1")]


def test_without_a_tree_the_roots_are_watched() -> None:
    def fail(roots: object) -> tuple[int, ...]:
        raise OSError("no more files")

    flaky = FlakyProbe()
    sampler = Sampler({"flaky": flaky}, fail)
    sampler.sample([7], "/")
    assert flaky.seen[0].tree == (7,)
    assert sampler.failures == {"tree": "OSError: no more files"}


def test_closing_goes_on_after_a_failure() -> None:
    flaky, steady = FlakyProbe(), SteadyProbe()
    flaky.error = ValueError("busy")
    sampler = Sampler({"flaky": flaky, "steady": steady}, tuple)
    sampler.close()
    assert steady.closed == 1
    assert sampler.failures == {"flaky": "ValueError: busy"}


def test_a_source_that_cannot_be_opened_is_reported_like_one_that_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "broken.py").write_text("def open_probe(): raise OSError('no such device')")
    (tmp_path / "absent.py").write_text("def open_probe(): return None")
    monkeypatch.setattr(live, "__path__", [str(tmp_path)])
    sampler = Sampler(load_probes(), tuple)
    assert sampler.sample([1], "/") == {}
    assert sampler.failures == {"broken": "OSError: no such device"}


def test_this_machine_is_sampled_without_a_failure() -> None:
    sampler = open_sampler()
    rows = [sampler.sample([os.getpid()], "/") for _ in range(3)]
    sampler.close()
    assert sampler.failures == {}
    assert rows[0].keys() == rows[1].keys() == rows[2].keys()
    assert rows[2]["system/process/rss_bytes"] > 1 << 20


def test_when_all_roots_are_gone_the_keys_stay() -> None:
    sampler = open_sampler()
    alive, dead = sampler.sample([os.getpid()], "/"), sampler.sample([], "/")
    sampler.close()
    assert sampler.failures == {}
    assert alive.keys() == dead.keys()
    assert dead["system/process/processes"] == 0
