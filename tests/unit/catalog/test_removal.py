"""Which runs `holter gc` takes, and that it takes them whole."""

import os
import shutil
from pathlib import Path

import pytest

from holter.catalog.catalog import Catalog
from holter.catalog.change.deletions import Deletion, Deletions, delete_run, hide_run, restore_run
from holter.catalog.change.removal import Candidate, Criteria, choose
from holter.catalog.change.trash import Trash, weigh
from holter.errors import NoRun
from holter.model.records import Finished
from holter.model.run_row import RunRow
from tests.unit.catalog.journals import BEGAN_NS, Journal, dead, named

NOW = 1_800_000_000.0
DAY = 86_400.0


def candidate(
    run: str, *, days: float, state: str = "finished", size: int = 100, touched_s: float = 3600, is_settled: bool = True
) -> Candidate:
    row = RunRow(
        id=run,
        name=run,
        project="tests",
        state=state,
        started_ns=int((NOW - days * DAY - 60) * 1e9),
        ended_ns=None if state == "running" else int((NOW - days * DAY) * 1e9),
    )
    return Candidate(row=row, bytes=size, touched_at=NOW - touched_s, is_settled=is_settled)


RUNS = [
    candidate("new", days=1, state="crashed"),
    candidate("oldest", days=40),
    candidate("old", days=35, state="failed"),
    candidate("live", days=50, state="running", is_settled=False),
]


def taken(criteria: Criteria) -> list[str]:
    return [each.row.id for each in choose(RUNS, criteria, now=NOW).removed]


@pytest.mark.parametrize(
    ("criteria", "removed"),
    [
        (Criteria(), []),
        (Criteria(older_than_s=30 * DAY), ["oldest", "old"]),
        (Criteria(older_than_s=100 * DAY), []),
        (Criteria(states=["crashed"]), ["new"]),
        (Criteria(states=["failed", "crashed"]), ["old", "new"]),
        (Criteria(states=["crashed"], older_than_s=30 * DAY), []),
        (Criteria(keep_bytes=400), []),
        (Criteria(keep_bytes=399), ["oldest"]),
        (Criteria(keep_bytes=200), ["oldest", "old"]),
        (Criteria(keep_bytes=0), ["oldest", "old", "new"]),
        (Criteria(keep_bytes=399, states=["crashed"]), ["new"]),
        (Criteria(keep_bytes=399, older_than_s=37 * DAY), ["oldest"]),
        (Criteria(keep_bytes=200, older_than_s=37 * DAY), ["oldest", "old"]),
    ],
)
def test_the_oldest_go_first_and_no_more_than_was_asked_for(criteria: Criteria, removed: list[str]) -> None:
    assert taken(criteria) == removed


@pytest.mark.parametrize(
    ("protected", "because"),
    [
        (candidate("r", days=50, state="running", is_settled=False), "it is running"),
        (candidate("r", days=50, state="crashed", is_settled=False), "it is not certain that it has ended"),
        (candidate("r", days=50, touched_s=59), "it changed less than a minute ago"),
    ],
)
def test_a_run_that_may_still_change_stays_and_it_is_said_why(protected: Candidate, because: str) -> None:
    choice = choose([protected], Criteria(older_than_s=DAY), now=NOW)
    assert (choice.removed, choice.kept) == ([], [(protected, because)])


def test_a_running_run_counts_for_the_size_all_the_same() -> None:
    live = candidate("live", days=1, state="running", size=1000, is_settled=False)
    choice = choose([live, candidate("small", days=9)], Criteria(keep_bytes=500), now=NOW)
    assert [each.row.id for each in choice.removed] == ["small"]


@pytest.fixture
def ended(tmp_path: Path) -> Path:
    directory = tmp_path / "runs" / "r1"
    Journal(directory, dead()).say(named("ended"), Finished(at_ns=BEGAN_NS, exit_code=0)).close()
    return directory


def test_a_removed_run_is_gone(ended: Path, tmp_path: Path) -> None:
    Trash(str(tmp_path)).remove("r1")
    assert not ended.exists()
    assert Catalog(str(tmp_path)).rows() == []


def test_an_interrupted_removal_leaves_no_half_run_and_the_next_one_ends_it(
    ended: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(path: str) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(shutil, "rmtree", interrupted)
        with pytest.raises(KeyboardInterrupt):
            Trash(str(tmp_path)).remove("r1")
    assert Catalog(str(tmp_path)).rows() == []
    assert len(list((tmp_path / "runs").iterdir())) == 1
    Trash(str(tmp_path)).empty()
    assert list((tmp_path / "runs").iterdir()) == []


def test_a_hidden_run_comes_back_whole_for_a_while_and_then_no_more(ended: Path, tmp_path: Path) -> None:
    before = sorted(path.name for path in ended.iterdir())
    assert hide_run(str(tmp_path), "r1", by="ada", user="ada")
    assert Catalog(str(tmp_path)).rows() == []
    Trash(str(tmp_path)).empty()  # whoever makes room leaves it
    assert restore_run(str(tmp_path), "r1")
    assert sorted(path.name for path in ended.iterdir()) == before
    assert Deletions(str(tmp_path)).find("r1") is None
    assert not restore_run(str(tmp_path), "r1")
    ended.rename(tmp_path / "runs" / ".trash-kept-1-r1")  # hidden in 1970
    assert not restore_run(str(tmp_path), "r1")
    Trash(str(tmp_path)).empty()
    assert list((tmp_path / "runs").iterdir()) == []


def test_a_deletion_is_noted_before_the_run_goes_and_forgotten_where_it_stays(
    ended: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    noted: list[Deletion | None] = []

    def refusing(self: Trash, run: str) -> None:
        noted.append(Deletions(str(tmp_path)).find(run))
        raise PermissionError(1, "not yours")

    with monkeypatch.context() as patched:
        patched.setattr(Trash, "remove", refusing)
        with pytest.raises(PermissionError):
            delete_run(str(tmp_path), "r1", by="ada")
    assert [each.by for each in noted if each] == ["ada"]
    assert Deletions(str(tmp_path)).find("r1") is None
    assert ended.exists()
    delete_run(str(tmp_path), "r1", by="ada")
    delete_run(str(tmp_path), "r1", by="ben")  # who was quicker has done it
    assert Deletions(str(tmp_path)).find("r1") is not None
    assert not ended.exists()


def test_those_who_share_runs_share_the_notes_of_deletions(ended: Path, tmp_path: Path) -> None:
    (tmp_path / "runs").chmod(0o1777)
    delete_run(str(tmp_path), "r1", by="ada")
    assert (tmp_path / "deleted").stat().st_mode & 0o7777 == 0o1777


def test_who_looks_for_a_deleted_run_is_told_who_deleted_it(ended: Path, tmp_path: Path) -> None:
    delete_run(str(tmp_path), "r1", by="ada")
    with pytest.raises(NoRun, match=r"run r1 is not in .* any more: it was deleted by ada on 20\d\d-"):
        Catalog(str(tmp_path)).find("r1")
    with pytest.raises(NoRun, match="there are no runs in"):
        Catalog(str(tmp_path)).find("r2")


def test_a_run_weighs_what_its_files_do_and_is_as_young_as_the_youngest(ended: Path, tmp_path: Path) -> None:
    [row] = Catalog(str(tmp_path)).rows()
    (ended / "more").write_bytes(b"x" * 1000)
    os.utime(ended / "more", (NOW, NOW))
    [segment] = ended.glob("*.seg")
    weighed = weigh(row, is_settled=True)
    assert weighed.bytes == 1000 + segment.stat().st_size
    assert weighed.touched_at == NOW


def test_a_link_to_a_run_elsewhere_stays(ended: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    shutil.move(ended, tmp_path / "elsewhere" / "r1")
    ended.symlink_to(tmp_path / "elsewhere" / "r1")
    [row] = Catalog(str(tmp_path)).rows()
    choice = choose([weigh(row, is_settled=True)], Criteria(keep_bytes=0), now=row.started_at + 1e6)
    assert [because for _, because in choice.kept] == ["its directory is a link to another place"]
