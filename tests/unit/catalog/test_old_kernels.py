"""Which records of notebooks' kernels go by themselves, and that nothing else ever does."""

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from holter.catalog import old_kernels
from holter.catalog.old_kernels import MOST_DEAD, MOST_RECENT, prune_beside, prune_kernels
from holter.model.records import KERNEL, Described, Edited, Finished
from tests.unit.catalog.journals import BEGAN_NS, Journal, age, alive, dead, elsewhere

DAY = 86_400.0
NOW = time.time()
WELL = Finished(at_ns=BEGAN_NS + 1, exit_code=0)
BADLY = Finished(at_ns=BEGAN_NS + 1, exit_code=1)

Leave = Callable[..., Path]


@pytest.fixture
def leave(tmp_path: Path) -> Leave:
    """Leaves a run behind whose directory last changed so many days ago."""

    def leave(run: str, *, days: float, end: Finished | None = WELL, kind: str = KERNEL, **more: object) -> Path:
        directory = tmp_path / "runs" / run
        directory.mkdir(parents=True)
        journal = Journal(directory, more.get("writer", dead()), kind=str(more.get("by", "client")))  # type: ignore[arg-type]  # as given
        started_ns = int(str(more.get("started_ns", BEGAN_NS)))
        journal.say(Described(at_ns=BEGAN_NS, project="notebooks", name=run, started_ns=started_ns, kind=kind))
        journal.log(range(int(str(more.get("rows", 0)))))
        if end is not None:
            journal.say(end)
        if edited := more.get("edited"):
            journal.say(Edited(at_ns=BEGAN_NS, by="tests", notes=str(edited)))
        journal.close()
        age(directory, days * DAY)
        return directory

    return leave


def left(data: Path) -> set[str]:
    return set(os.listdir(data / "runs"))


def test_a_kernel_that_ended_well_two_weeks_ago_goes_and_a_younger_one_stays(leave: Leave, tmp_path: Path) -> None:
    leave("old", days=15)
    leave("young", days=13)
    assert prune_kernels(str(tmp_path), now=NOW) == ["old"]
    assert left(tmp_path) == {"young"}
    assert prune_kernels(str(tmp_path), now=NOW) == []


def test_of_the_young_ones_the_newest_stay(leave: Leave, tmp_path: Path) -> None:
    for at in range(MOST_RECENT + 2):
        leave(f"k{at:02}", days=1 + at / 100)
    assert set(prune_kernels(str(tmp_path), now=NOW)) == {"k50", "k51"}
    assert len(left(tmp_path)) == MOST_RECENT


@pytest.mark.parametrize(
    "what",
    [
        {"kind": "", "rows": 10},
        {"kind": ""},
        {"rows": 1},
        {"end": BADLY},
        {"end": None},
        {"end": None, "writer": alive()},
        {"end": None, "writer": elsewhere()},
        {"edited": "the one with the good seed"},
    ],
    ids=["a run", "a run without rows", "rows in it", "failed", "died", "runs", "elsewhere", "notes on it"],
)
def test_however_old_it_is_everything_else_stays(what: dict[str, object], leave: Leave, tmp_path: Path) -> None:
    leave("dear", days=400, **what)
    assert prune_kernels(str(tmp_path), now=NOW) == []
    assert left(tmp_path) == {"dear"}


def test_of_the_deaths_the_newest_stay(leave: Leave, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert MOST_DEAD == 500
    monkeypatch.setattr(old_kernels, "MOST_DEAD", 2)
    for at in range(4):
        leave(f"d{at}", days=20, end=BADLY, started_ns=BEGAN_NS - at * 1_000_000)
    assert set(prune_kernels(str(tmp_path), now=NOW)) == {"d2", "d3"}


def test_what_changed_a_moment_ago_stays(leave: Leave, tmp_path: Path) -> None:
    directory = leave("touched", days=20)
    os.utime(next(directory.glob("*.seg")))
    assert prune_kernels(str(tmp_path), now=NOW) == []


def test_a_record_that_cannot_be_read_stays_and_is_not_in_the_way(leave: Leave, tmp_path: Path) -> None:
    leave("old", days=15)
    (tmp_path / "runs" / "a-file").write_text("not a run")
    broken = leave("broken", days=15)
    next(broken.glob("*.seg")).write_bytes(b"nonsense" * 1000)
    age(broken, 15 * DAY)
    assert prune_kernels(str(tmp_path), now=NOW) == ["old"]


def test_only_the_end_of_a_kernel_is_the_time_to_look(leave: Leave, tmp_path: Path) -> None:
    leave("old", days=15)
    run, kernel = leave("run", days=0, kind=""), leave("kernel", days=0, by="provisioner")
    assert prune_beside(str(run), now=NOW) == []
    assert prune_beside("/nowhere/runs/kernel", now=NOW) == []
    assert prune_beside(str(tmp_path / "elsewhere" / "kernel"), now=NOW) == []
    assert prune_beside(str(kernel), now=NOW) == ["old"]
