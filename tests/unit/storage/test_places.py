"""Which port keeps what where: options, the file, and what follows what."""

from pathlib import Path

import pytest

from holter.errors import UsageError
from holter.storage.opening import open_storage
from holter.storage.places import FILE, Places, choose_places, read_places, without_password


def test_without_a_word_all_is_at_the_default_place() -> None:
    assert choose_places({}, "sqlite:/here") == Places.at("sqlite:/here")


def test_what_nobody_named_follows_its_neighbour() -> None:
    found = choose_places({"runs": "a:1", "series": "b:2"}, "sqlite:/here")
    assert found == Places(runs="a:1", series="b:2", console="b:2", blobs="sqlite:/here", settings="a:1", media="a:1")
    assert found.urls() == ("a:1", "b:2", "sqlite:/here")


def test_the_file_names_places(tmp_path: Path) -> None:
    assert read_places(str(tmp_path)) == {}
    (tmp_path / FILE).write_text('[storage]\nruns = "postgresql://db/holter"\n')
    assert read_places(str(tmp_path)) == {"runs": "postgresql://db/holter"}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[storage", "can't be read as TOML"),
        ('[storage]\nrun = "x:"', "run = 'x:'"),
        ("[storage]\nruns = 3", "runs = 3"),
        ("[storge]\n", "and has storge"),
    ],
)
def test_a_file_that_says_something_else_is_refused(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / FILE).write_text(text)
    with pytest.raises(UsageError, match=said):
        read_places(str(tmp_path))


@pytest.mark.parametrize("url", ["postgre://ada:secret@db/holter", "runs.db", "postgre://ada:secret@[db/holter"])
def test_an_engine_that_is_none_is_named_without_its_password(url: str) -> None:
    with pytest.raises(UsageError, match="no storage engine") as refused:
        open_storage(url)
    assert "secret" not in str(refused.value)


def test_a_password_is_left_out_of_what_is_shown() -> None:
    assert without_password("postgresql://ada:secret@db:5432/holter?x=1") == "postgresql://ada:…@db:5432/holter?x=1"
    assert without_password("sqlite:/srv/holter") == "sqlite:/srv/holter"
