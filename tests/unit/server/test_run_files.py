"""The files of a run: no name leads out of its directory."""

import os
from pathlib import Path

import pytest

from holter.errors import NoRun, UsageError
from holter.server.query.run_files import checked_name, kind_of, list_files, media_of, open_file
from holter.storage.opening import open_storage
from tests.unit.descriptors import no_descriptor_left


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    place = tmp_path / "runs" / "r1"
    (place / "files" / "deep").mkdir(parents=True)
    (place / "files" / "deep" / "a.txt").write_text("content")
    (place / "output.log").write_text("printed")
    (place / f"{'0' * 32}-000001.seg").write_text("journal")
    (tmp_path / "secret").write_text("secret")
    (place / "link").symlink_to(tmp_path / "secret")
    (place / "folder").symlink_to(tmp_path)
    os.mkfifo(place / "pipe")
    return place


def test_files_are_listed_without_journals_links_and_pipes(directory: Path) -> None:
    storage = open_storage("memory:")
    assert [each.path for each in list_files(storage, "r1", directory=str(directory))] == [
        "files/deep/a.txt",
        "output.log",
    ]


def test_a_file_is_opened_by_its_path(directory: Path) -> None:
    with open_file(str(directory), "files/deep/a.txt") as file:
        assert file.read() == b"content"


@pytest.mark.parametrize(
    "path", ["link", "folder/secret", "pipe", "files", "files/deep", "none", f"{'0' * 32}-000001.seg"]
)
def test_what_is_no_file_of_the_run_is_not_there(directory: Path, path: str) -> None:
    with pytest.raises(NoRun):
        open_file(str(directory), path)


@pytest.mark.parametrize(
    "path", ["", "/etc/passwd", "../r2/output.log", "a/../../b", "./a", "a//b", "a/", "a\0b", "a\\b", "x" * 1025]
)
def test_a_name_that_leads_elsewhere_is_none(path: str) -> None:
    with pytest.raises(UsageError):
        checked_name(path)


@pytest.mark.parametrize(
    ("name", "media", "kind"),
    [
        ("a.log", "text/plain", "text"),
        ("a.json", "text/plain", "text"),
        ("a.css", "text/plain", "text"),
        ("a.js", "text/plain", "text"),
        ("a.html", "text/html", "html"),
        ("a.svg", "image/svg+xml", "html"),
        ("a.png", "image/png", "image"),
        ("a.wav", "audio/x-wav", "audio"),
        ("a.pdf", "application/octet-stream", "other"),
        ("a.xhtml", "application/octet-stream", "other"),
        ("a.pt", "application/octet-stream", "other"),
    ],
)
def test_a_type_that_browsers_run_is_never_sent(name: str, media: str, kind: str) -> None:
    assert (media_of(name), kind_of(name)) == (media, kind)


def test_who_can_not_look_does_not_say_that_there_is_no_file(directory: Path) -> None:
    with no_descriptor_left(), pytest.raises(OSError, match="Too many open files"):
        open_file(str(directory), "output.log")
