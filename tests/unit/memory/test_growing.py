"""What grows in a program that goes on while somebody looks at it."""

import threading
import time
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pytest

from holter.memory.growing import Growing, what_grows
from holter.memory.held import Held
from holter.memory.variables import variables


def seen_while(step: Callable[[], None]) -> Growing | None:
    """Steps in this thread, looks in another one."""
    found: list[Growing | None] = []
    looker = threading.Thread(target=lambda: found.append(what_grows(between_s=0.3)))
    looker.start()
    while looker.is_alive():
        step()
        time.sleep(0.005)
    return found[0]


def train(still: object) -> Growing | None:
    losses = [np.ones(1 << 15) for _ in range(20)]
    found = seen_while(lambda: losses.append(np.ones(1 << 15)))
    assert still, losses
    return found


def test_a_list_that_grows_in_a_running_function_is_named_with_it() -> None:
    found = train([np.ones(1 << 21) for _ in range(4)])
    assert found is not None
    assert (found.held.name, found.held.type, found.where) == ("losses", "list", "train()")
    assert str(found).startswith("largest growth: list 'losses' in train() (")
    assert " items" in str(found)


def test_what_stays_as_it_is_explains_nothing() -> None:
    large = dict.fromkeys(range(5000), "x" * 1000)
    assert seen_while(lambda: None) is None, len(large)


def test_what_there_was_no_time_to_measure_at_first_has_not_grown(monkeypatch: pytest.MonkeyPatch) -> None:
    looks = iter([False, True])

    def in_time(namespace: dict[str, object], *, shell: Any) -> Iterable[Held]:  # noqa: ANN401  as `variables` has it
        found = variables(namespace, shell=shell)
        return found if next(looks) else []

    monkeypatch.setattr("holter.memory.growing.variables", in_time)
    large = [np.ones(1 << 21) for _ in range(4)]
    assert seen_while(lambda: None) is None, large


def test_what_was_not_there_at_first_has_grown() -> None:
    def train() -> Growing | None:
        new: object = None
        began = time.monotonic()

        def step() -> None:
            nonlocal new
            if new is None and time.monotonic() > began + 0.1:
                new = np.ones(1 << 22)

        return seen_while(step)

    found = train()
    assert found is not None
    assert (found.held.name, found.where) == ("new", "train()")
