"""A run over which holter itself fails is one line of the list, and no more."""

from pathlib import Path

import pytest

from holter.catalog import catalog as module
from holter.catalog.catalog import Catalog
from holter.catalog.read.loaded_run import read_digests
from holter.cli.main import main
from holter.errors import Unreadable
from holter.journal.digest import Digest
from tests.unit.catalog.journals import Journal, elsewhere, named


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two runs; for want of records over which holter fails today, it is made to fail over one of them."""
    for run in ("odd", "well"):
        Journal(tmp_path / "runs" / run, elsewhere()).say(named(run)).log(range(3)).close()

    def read(directory: str) -> list[Digest]:
        if directory.endswith("odd"):
            raise OverflowError("too large\x1b[2J\nby far")
        return read_digests(directory)

    monkeypatch.setattr(module, "read_digests", read)
    return tmp_path


def test_it_is_listed_beside_the_others_with_the_reason(
    data: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = {row.id: row for row in Catalog(str(data)).rows()}
    assert rows["well"].rows == 3
    assert rows["odd"].state == "unreadable"
    assert "OverflowError: too large" in rows["odd"].trouble
    monkeypatch.setenv("HOLTER_DIR", str(data))
    assert main(["ls"]) == 0
    told = capsys.readouterr()
    [line] = [line for line in told.out.splitlines() if "odd" in line.split()]
    assert "unreadable" in line
    assert "OverflowError: too large" in line
    assert "\x1b" not in line
    assert "well" in told.out


def test_to_ask_for_it_is_told_and_no_traceback(
    data: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(Unreadable, match="run odd: holter can't show it"):
        Catalog(str(data)).load("odd")
    monkeypatch.setenv("HOLTER_DIR", str(data))
    assert main(["show", "odd"]) == 1
    assert "run odd: holter can't show it" in capsys.readouterr().err


def test_a_forged_number_of_an_attempt_harms_nobody(tmp_path: Path) -> None:
    for run, attempt in (("odd", -3), ("well", 1)):
        Journal(tmp_path / "runs" / run, elsewhere(), attempt=attempt).say(named(run)).log(range(3)).close()
    assert {row.id: (row.rows, row.last_step) for row in Catalog(str(tmp_path)).rows()} == {
        "odd": (3, 2),
        "well": (3, 2),
    }
