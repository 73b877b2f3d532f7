"""One server for one index."""

import threading
from pathlib import Path

import pytest

from holter.errors import UsageError
from holter.server.local import claim_or_find
from holter.server.process.instance import Claim, Instance, claim_index

ME = Instance(pid=7, kind="ui", url="http://127.0.0.1:1/?token=secret")


def test_who_comes_second_learns_where_the_first_is(tmp_path: Path) -> None:
    first, second = Claim(str(tmp_path)), Claim(str(tmp_path))
    assert first.take()
    assert not second.take()
    assert second.other() is None
    first.tell(ME)
    assert second.other() == ME
    first.close()
    assert second.take()
    second.close()


def test_a_refusal_does_not_tell_the_token(tmp_path: Path) -> None:
    first = claim_index(str(tmp_path), {})
    first.tell(ME)
    with pytest.raises(UsageError) as refused:
        claim_index(str(tmp_path), {})
    assert "process 7, http://127.0.0.1:1/)" in str(refused.value)
    assert "secret" not in str(refused.value)
    first.close()


def test_the_file_with_the_token_is_the_owners(tmp_path: Path) -> None:
    claim = Claim(str(tmp_path / "index"))
    claim.take()
    claim.tell(ME)
    assert (tmp_path / "index" / "server.json").stat().st_mode & 0o777 == 0o600
    claim.close()


def test_who_looks_for_a_server_that_is_just_starting_waits_for_its_word(tmp_path: Path) -> None:
    starting = Claim(str(tmp_path / "index"))
    assert starting.take()
    later = threading.Timer(0.2, starting.tell, [ME])
    later.start()
    assert claim_or_find(str(tmp_path), {}) == ME
    later.join()
    starting.close()
    mine = claim_or_find(str(tmp_path), {})
    assert isinstance(mine, Claim)
    mine.close()
