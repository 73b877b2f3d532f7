"""Where settings come from, in which order, and what is refused."""

from pathlib import Path

import pytest

from holter.errors import UsageError
from holter.journal.rundir import is_run_id
from holter.recording.settings import parse_bytes, read_settings


def test_an_argument_beats_holters_variable_beats_wandbs_beats_the_file(tmp_path: Path) -> None:
    (tmp_path / "holter.toml").write_text('project = "file"\nentity = "file"\nname = "file"\nnotes = "file"\n')
    environ = {
        "HOLTER_PROJECT": "ours",
        "HOLTER_ENTITY": "ours",
        "WANDB_PROJECT": "theirs",
        "WANDB_ENTITY": "theirs",
        "WANDB_NAME": "theirs",
    }
    settings = read_settings({"project": "argument"}, environ, directory=str(tmp_path))
    assert (settings.project, settings.entity, settings.name, settings.notes) == ("argument", "ours", "theirs", "file")


def test_wandbs_names_of_the_same_meaning_are_read() -> None:
    environ = {
        "WANDB_RUN_GROUP": "g",
        "WANDB_RUN_ID": "abc",
        "WANDB_TAGS": "a, b,",
        "WANDB_MODE": "dryrun",
        "WANDB_DIR": "/x",
    }
    settings = read_settings({}, environ)
    assert (settings.group, settings.run_id, settings.tags, settings.mode) == ("g", "abc", ("a", "b"), "offline")
    assert settings.dir != "/x"


def test_the_data_directory_follows_xdg_and_holter_dir() -> None:
    assert read_settings({}, {"XDG_DATA_HOME": "/data"}).dir == "/data/holter"
    assert read_settings({}, {"XDG_DATA_HOME": "/data", "HOLTER_DIR": "/here"}).dir == "/here"
    assert read_settings({"dir": Path("/there")}, {"HOLTER_DIR": "/here"}).dir == "/there"


@pytest.mark.parametrize("text", ["0", "false", "No", "off", ""])
def test_a_switch_can_be_off_in_every_way_people_write_it(text: str) -> None:
    assert not read_settings({}, {"HOLTER_SILENT": text}).silent


@pytest.mark.parametrize(
    ("value", "size"), [("10", 10), (20, 20), ("1kB", 1000), ("1.5 MiB", 1_572_864), ("2g", 2 * 10**9)]
)
def test_sizes_are_read_with_their_units(value: object, size: int) -> None:
    assert parse_bytes(value) == size


@pytest.mark.parametrize("value", ["", "ten", "-1", -2, "5XB", True])
def test_what_is_no_size_is_refused(value: object) -> None:
    with pytest.raises(UsageError, match="a size must be"):
        parse_bytes(value)


@pytest.mark.parametrize("run_id", ["", "../x", "a/b", "a\0b", "a\nb", "a?b", 5])
def test_an_id_that_could_leave_the_directory_is_refused(run_id: object) -> None:
    with pytest.raises(UsageError, match="can't name a directory"):
        read_settings({"run_id": run_id}, {})


@pytest.mark.parametrize("run_id", [".", "..", "-x", "a b", "a  b", "x" * 129, "x" * 130, "ä", "ö", "a b "])
def test_an_id_of_wandbs_that_names_no_directory_becomes_one_that_does(run_id: str) -> None:
    found = read_settings({"run_id": run_id}, {}).run_id
    assert is_run_id(found)
    assert found == read_settings({"run_id": run_id}, {}).run_id != run_id


def test_ids_that_differ_stay_apart() -> None:
    ids = ["a b", "a  b", "a-b", "ä", "ö", "x" * 129, "x" * 130, ".", ".."]
    assert len({read_settings({"run_id": run_id}, {}).run_id for run_id in ids}) == len(ids)
    assert read_settings({"run_id": "a b"}, {}).run_id == "a-b-806c5cd3"


def test_wandbs_older_words_for_the_modes_are_known() -> None:
    assert [read_settings({"mode": mode}, {}).mode for mode in ("dryrun", "run")] == ["offline", "online"]


def test_a_broken_file_says_where_it_is(tmp_path: Path) -> None:
    (tmp_path / "holter.toml").write_text("project = ")
    with pytest.raises(UsageError, match=r"holter\.toml can't be read as TOML"):
        read_settings({}, {}, directory=str(tmp_path))
