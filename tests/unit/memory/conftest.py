"""Only what a test makes is looked at, and none of the other tests' modules and objects."""

import gc

import pytest

from holter.memory import holders


@pytest.fixture(autouse=True)
def _without_other_modules(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hundreds of them would count as the user's own, and take their share of the time."""
    find = holders._own_modules
    monkeypatch.setattr(holders, "_own_modules", lambda count: [n for n in find(count) if not n.startswith("tests")])


@pytest.fixture(autouse=True, scope="module")
def _without_older_objects() -> None:
    """The garbage collector would look at each of them again and again."""
    gc.collect()
    gc.freeze()
