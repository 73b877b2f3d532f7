"""Servers whose runs are recorded once, for all tests of a file that only look at them."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.servers import Served, ui
from tests.environment import isolate


@contextlib.contextmanager
def gallery_in(place: Path) -> Iterator[Served]:
    """`holter ui` of a directory of its own. What is recorded before the first `yield` of a fixture lands there."""
    with pytest.MonkeyPatch.context() as patch:
        isolate(patch, place)
        with ui() as served:
            yield served


def forget_settings(server: Served) -> None:
    """Of the tests before, where they share a server: each finds its workspace as it is at first.

    To be called once the page is somewhere else: what the one before it changed last has come by then.
    """
    for path in Path(server.home, "index", "settings").glob("*.json"):
        path.unlink()
