"""`holter artifact` from a shell, in one process."""

import errno
import json
import os
from pathlib import Path
from typing import NoReturn

import pytest

from holter.cli.main import main


def holter(*arguments: str) -> int:
    return main(["artifact", *arguments])


def told(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, object]:
    capsys.readouterr()
    assert holter(*arguments, "--json") == 0
    return dict(json.loads(capsys.readouterr().out))


def test_a_version_is_put_listed_fetched_verified_deleted_and_brought_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "m.bin").write_bytes(bytes(range(256)) * 400)
    put = told(capsys, "put", "p/model", "m.bin", "--type", "model", "--alias", "best")
    assert (put["version"], put["type"], put["aliases"]) == ("v0", "model", ["best", "latest"])
    assert [each["name"] for each in told(capsys, "ls")["artifacts"]] == ["model"]  # type: ignore[attr-defined]  # JSON
    assert told(capsys, "ls", "model:best")["files"][0]["path"] == "m.bin"  # type: ignore[index]  # JSON
    got = told(capsys, "get", "model:best", "--root", "there")
    assert (tmp_path / "there" / "m.bin").read_bytes() == (tmp_path / "m.bin").read_bytes()
    assert got["written"] == [str(tmp_path / "there" / "m.bin")]
    assert told(capsys, "get", "model", "--root", "there")["written"] == []
    assert told(capsys, "verify") == {"versions": 1, "damaged": []}

    (tmp_path / "there" / "m.bin").write_bytes(b"x")
    assert holter("verify", "model", "--root", "there") == 1
    assert "m.bin: 1 bytes instead of 102,400" in capsys.readouterr().out

    assert told(capsys, "alias", "model:v0", "production", "--protect")["version"] == 0
    assert holter("rm", "model:v0") == 2
    assert "protected alias 'production'" in capsys.readouterr().err
    told(capsys, "alias", "model:v0", "production", "--remove")
    assert told(capsys, "rm", "model:v0")["trashed"] == ["v0"]
    assert told(capsys, "ls", "model")["trashed"] == ["v0"]
    assert told(capsys, "restore", "model")["restored"] == ["v0"]
    assert told(capsys, "gc")["versions"] == 0


@pytest.mark.parametrize(
    ("arguments", "because"),
    [
        (["get"], "write `holter artifact get NAME`"),
        (["get", "nothing"], "there is no artifact 'nothing' in project 'uncategorized'"),
        (["put", "x"], "write `holter artifact put NAME PATH`"),
        (["put", "x", "there-is-none"], "to be kept"),
        (["put", "a/b/c/d", "."], "too many parts"),
    ],
)
def test_a_wrong_call_is_one_sentence(arguments: list[str], because: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert holter(*arguments) == 2
    assert because in capsys.readouterr().err


def test_put_on_a_full_disk_says_so_and_leaves_the_wish(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    times = 0

    def full(*_: object) -> NoReturn:
        nonlocal times
        times += 1
        assert times < 3, "it tries again and again"
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    (tmp_path / "m.bin").write_bytes(b"a")
    with monkeypatch.context() as while_full:
        while_full.setattr("holter.artifacts.working_off.seal", full)
        assert holter("put", "p/model", str(tmp_path / "m.bin")) == 1
    assert "is not kept yet: No space left on device" in capsys.readouterr().err
    assert told(capsys, "put", "p/other", str(tmp_path / "m.bin"))["version"] == "v0"
    assert told(capsys, "ls", "p/model")["versions"][0]["version"] == "v0"  # type: ignore[index]  # JSON
