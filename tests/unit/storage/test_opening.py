"""Storage is opened by URL."""

import pytest

from holter.errors import UsageError
from holter.storage.opening import engine_names, open_storage


def test_the_engines_are_the_files_of_the_folder() -> None:
    assert engine_names() == ["memory", "sqlite"]


@pytest.mark.parametrize("url", ["postgre://db", "sqlite", "", "../x:y"])
def test_a_url_without_an_engine_says_what_there_is(url: str) -> None:
    with pytest.raises(UsageError, match="memory, sqlite"):
        open_storage(url)


def test_sqlite_needs_a_place() -> None:
    with pytest.raises(UsageError, match="names no directory"):
        open_storage("sqlite:")
