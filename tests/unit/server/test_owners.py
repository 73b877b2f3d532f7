"""A run on a server belongs to who sent it first: whoever else uses its id has another run there."""

from collections.abc import Callable
from pathlib import Path

import pytest

from holter.errors import Refused
from holter.server.security.owners import Owners, Sender

Open = Callable[[], Owners]


@pytest.fixture
def kept() -> dict[str, list[str]]:
    """The journals that are there of each run."""
    return {}


@pytest.fixture
def reopen(tmp_path: Path, kept: dict[str, list[str]]) -> Open:
    return lambda: Owners(
        str(tmp_path / "owners.jsonl"), journals=lambda run: kept.get(run, ()), is_taken=lambda run: run in kept
    )


def ann(run: str = "baseline", project: str | None = "p", *journals: str) -> Sender:
    return Sender(user="ann", run=run, project=project, journals=journals)


def bob(run: str = "baseline", project: str | None = "p", *journals: str) -> Sender:
    return Sender(user="bob", run=run, project=project, journals=journals)


def test_another_users_run_gets_an_id_of_its_own_and_keeps_it(reopen: Open) -> None:
    owners = reopen()
    assert [owners.claim(each) for each in (ann(), bob(), ann(), bob())] == ["baseline", "baseline-2"] * 2
    again = reopen()
    assert [again.claim(each) for each in (bob(), ann())] == ["baseline-2", "baseline"]


def test_a_run_of_another_project_is_another_run(reopen: Open) -> None:
    owners = reopen()
    assert [owners.claim(ann(project=each)) for each in ("p", "q", "p", "q")] == ["baseline", "baseline-2"] * 2


def test_who_has_one_of_its_journals_has_the_run_whatever_its_project_is_called_now(
    reopen: Open, kept: dict[str, list[str]]
) -> None:
    owners = reopen()
    assert owners.claim(ann("baseline", "p", "j1")) == "baseline"
    kept["baseline"] = ["j1"]
    assert owners.claim(ann("baseline", "q", "j0", "j1")) == "baseline"


def test_a_sender_that_does_not_know_its_project_joins_its_own_run(reopen: Open) -> None:
    owners = reopen()
    assert owners.claim(ann(project=None)) == "baseline"
    assert owners.claim(ann(project="p")) == "baseline"
    assert owners.claim(ann(project="q")) == "baseline-2"


def test_the_id_that_the_server_gave_leads_to_the_same_run(reopen: Open) -> None:
    owners = reopen()
    owners.claim(ann())
    assert owners.claim(bob()) == "baseline-2"
    assert owners.claim(bob("baseline-2")) == "baseline-2"
    assert owners.claim(ann("baseline-2")) == "baseline-2-2"


def test_who_was_let_in_joins(reopen: Open) -> None:
    owners = reopen()
    owners.claim(ann())
    assert owners.claim(bob(), has_grant=lambda run: run == "baseline") == "baseline"
    owners.admit("bob", "baseline", has_grant=lambda run: True)
    assert owners.get("baseline") is not None
    assert owners.get("baseline").user == "ann"  # type: ignore[union-attr]  # just asserted


def test_a_sender_that_knows_nothing_of_owners_is_refused_where_the_id_is_anothers(reopen: Open) -> None:
    owners = reopen()
    owners.admit("ann", "baseline")
    owners.admit("ann", "baseline")
    with pytest.raises(Refused, match="the run 'baseline' on this server is somebody else's") as refused:
        owners.admit("bob", "baseline")
    assert refused.value.status == 409
    with pytest.raises(Refused):
        owners.check("bob", "baseline")


def test_a_run_from_before_owners_were_kept_goes_to_who_has_it(reopen: Open, kept: dict[str, list[str]]) -> None:
    kept["baseline"] = ["j1"]
    owners = reopen()
    assert owners.claim(bob("baseline", "p", "j9")) == "baseline-2"
    assert owners.claim(ann("baseline", "p", "j1")) == "baseline"
    assert owners.claim(ann("baseline", "p", "j2")) == "baseline"


def test_an_id_of_full_length_gets_a_shorter_beginning(reopen: Open) -> None:
    owners = reopen()
    owners.claim(ann("x" * 128))
    assert owners.claim(bob("x" * 128)) == "x" * 126 + "-2"


def test_a_line_that_was_cut_off_spoils_no_other(reopen: Open, tmp_path: Path) -> None:
    reopen().claim(ann())
    with (tmp_path / "owners.jsonl").open("ab") as file:
        file.write(b'{"run":"half')
    owners = reopen()
    assert owners.claim(bob()) == "baseline-2"
    assert reopen().claim(bob()) == "baseline-2"
