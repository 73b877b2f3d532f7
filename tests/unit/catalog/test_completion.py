"""What the next command does for a run whose process and sidecar are both gone, and for whom it does nothing."""

import json
import stat
from pathlib import Path

import pytest

from holter.catalog.catalog import Catalog
from holter.catalog.read.loaded_run import LoadedRun
from holter.model.records import Configured, Exited, Facts, Finished
from holter.probes.identity import ProcessIdentity
from tests.unit.catalog.journals import BEGAN_NS, Journal, alive, dead, elsewhere, named, of_an_earlier_boot


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / "runs" / "r1"


def load(directory: Path) -> LoadedRun:
    return Catalog(str(directory.parents[1])).load(directory.name, patience_s=0.0)


def exits(directory: Path) -> list[tuple[str, str, int | None]]:
    return [(record.journal, record.source, record.status) for record in load(directory).said(Exited)]


@pytest.mark.parametrize("process", [dead(), of_an_earlier_boot()], ids=["dead", "earlier boot"])
def test_a_run_whose_witnesses_are_all_dead_is_completed_once(directory: Path, process: ProcessIdentity) -> None:
    program = Journal(directory, process).say(named("lost")).log(range(10)).close()
    Journal(directory, dead(), kind="sidecar").close()
    loaded = load(directory)
    assert (loaded.row.state, loaded.outcome.is_final, loaded.is_settled) == ("crashed", True, True)
    assert loaded.row.ended_at == (BEGAN_NS + 9_000_000) / 1e9
    assert exits(directory) == [(program.id, "gone", None)]
    assert len(list(directory.glob("*.seg"))) == 3


def test_a_listing_completes_too(directory: Path) -> None:
    program = Journal(directory, dead()).log(range(3)).close()
    [row] = Catalog(str(directory.parents[1])).rows()
    assert row.state == "crashed"
    assert exits(directory) == [(program.id, "gone", None)]


def test_the_files_that_follow_from_the_journals_are_written_where_no_sidecar_did(directory: Path) -> None:
    program = Journal(directory, dead())
    program.say(named("lost"), Configured(at_ns=BEGAN_NS, config={"lr": 1e-5})).log(range(10)).close()
    Journal(directory, dead(), kind="sidecar").say(Facts(at_ns=BEGAN_NS, facts={"packages": ["a==1"]})).close()
    (directory / ".model.pt.1f2e.partial").write_bytes(b"half")
    load(directory)
    assert (directory / "config.yaml").read_text().splitlines()[1:] == ["lr: 1.0e-05"]
    assert json.loads((directory / "summary.json").read_text()) == {"loss": 0.1}
    assert (directory / "requirements.txt").read_text() == "a==1\n"
    assert json.loads((directory / "metadata.json").read_text())["name"] == "lost"
    assert stat.S_IMODE((directory / "metadata.json").stat().st_mode) == 0o600
    assert not list(directory.glob(".*"))


def test_the_files_of_a_run_that_ended_in_order_without_its_sidecar_are_made_good(directory: Path) -> None:
    Journal(directory, dead()).log(range(10)).say(Finished(at_ns=BEGAN_NS, exit_code=0)).close()
    directory.joinpath("summary.json").write_text('{"loss": 0.5}')
    load(directory)
    assert json.loads((directory / "summary.json").read_text()) == {"loss": 0.1}


def test_the_files_of_a_run_whose_sidecar_lives_are_left_to_it(directory: Path) -> None:
    Journal(directory, dead()).say(Finished(at_ns=BEGAN_NS, exit_code=0)).close()
    Journal(directory, alive(), kind="sidecar").close()
    load(directory)
    assert not (directory / "summary.json").exists()


def test_the_space_that_the_dead_had_reserved_is_given_back(directory: Path) -> None:
    program = Journal(directory, dead()).log(range(3))  # never closed, as if it was killed
    [segment] = directory.iterdir()
    load(directory)
    assert segment.stat().st_size < 1000
    assert load(directory).row.rows == 3
    program.close()


def test_a_process_of_another_machine_is_not_declared_dead_by_its_pid(directory: Path) -> None:
    Journal(directory, elsewhere()).log(range(3)).close()
    loaded = load(directory)
    # Its heartbeats stopped an hour ago: that is lateness, which the next row undoes.
    assert (loaded.row.state, loaded.outcome.is_final, loaded.is_settled) == ("crashed", False, False)
    assert exits(directory) == []


def test_a_living_process_is_left_alone(directory: Path) -> None:
    Journal(directory, alive()).log(range(3)).close()
    assert load(directory).row.state == "running"
    assert exits(directory) == []


def test_a_program_that_ended_the_run_itself_needs_no_completion(directory: Path) -> None:
    Journal(directory, dead()).say(Finished(at_ns=BEGAN_NS, exit_code=0)).close()
    assert load(directory).row.state == "finished"
    assert exits(directory) == []


def test_a_status_that_a_sidecar_read_wins_over_a_later_word_that_it_is_gone(directory: Path) -> None:
    program = Journal(directory, dead()).close()
    read = Exited(at_ns=BEGAN_NS, journal=program.id, pid=1, source="pidfd-info", status=9)
    gone = Exited(at_ns=BEGAN_NS + 1, journal=program.id, pid=1, source="gone")
    Journal(directory, dead(), kind="sidecar").say(read).close()
    Journal(directory, dead(), kind="command").say(gone).close()
    assert (load(directory).outcome.status, load(directory).outcome.source) == (9, "pidfd-info")


def test_an_earlier_attempt_does_not_count(directory: Path) -> None:
    Journal(directory, dead(), attempt=1).close()
    Journal(directory, alive(), attempt=2).close()
    assert load(directory).row.state == "running"
    assert exits(directory) == []


def test_the_death_of_one_rank_does_not_settle_the_run_while_another_writes(directory: Path) -> None:
    Journal(directory, dead(), rank=1).close()
    Journal(directory, alive(), rank=0).close()
    loaded = load(directory)
    assert (loaded.row.state, loaded.outcome.is_final, loaded.is_settled) == ("crashed", True, False)


def test_a_worker_that_still_writes_keeps_a_run_unsettled(directory: Path) -> None:
    Journal(directory, dead()).say(Finished(at_ns=BEGAN_NS, exit_code=0)).close()
    Journal(directory, alive(), kind="worker").close()
    loaded = load(directory)
    assert (loaded.row.state, loaded.is_settled) == ("finished", False)


def test_a_directory_that_cannot_be_written_has_the_same_state(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Journal(directory, dead()).close()
    # Permissions mean nothing to root, who may run the tests.
    monkeypatch.setattr("os.access", lambda path, mode: False)
    assert load(directory).row.state == "crashed"
    assert exits(directory) == []
