"""Versions of this machine from Python."""

import datetime
import os
from pathlib import Path

import pytest

import holter
from holter.artifacts.store import Store
from holter.errors import NoArtifact, UsageError
from tests.artifacts.files import keep


def test_versions_are_found_by_name_and_listed_newest_first(tmp_path: Path) -> None:
    store = Store(os.environ["HOLTER_DIR"])
    (folder := tmp_path / "f").mkdir()
    for number in (1, 2):
        (folder / "a.txt").write_text(str(number))
        keep(store, folder, at_ns=number)
    api = holter.Api()
    found = api.artifact("p/model:v0", type="model")
    assert Path(found.file(tmp_path / "got")).read_text() == "1"
    assert [each.version for each in api.artifacts("model", "p/model")] == ["v1", "v0"]
    assert api.artifacts("dataset") == []
    with pytest.raises(NoArtifact, match="is of type 'model', not 'dataset'"):
        api.artifact("model", type="dataset")


def test_what_is_said_anew_of_a_version_holds_once_it_is_saved(tmp_path: Path) -> None:
    store = Store(os.environ["HOLTER_DIR"])
    (folder := tmp_path / "f").mkdir()
    (folder / "a.txt").write_text("1")
    keep(store, folder)
    found = holter.Api().artifact("p/model")
    found.aliases.append("best")
    found.metadata["loss"] = 0.5
    found.ttl = datetime.timedelta(days=30)
    assert holter.Api().artifact("p/model").aliases == ["latest"]
    found.save()
    again = holter.Api().artifact("p/model:best")
    assert (again.metadata, again.ttl) == ({"loss": 0.5}, datetime.timedelta(days=30))
    again.aliases = []
    again.ttl = None
    again.save()
    version = store.book("p", "model").find("latest")
    assert (store.book("p", "model").aliases_of(0), version.expires_ns) == (["latest"], 0)
    with pytest.raises(UsageError, match="the time to live is a timedelta"):
        again.ttl = "a month"
