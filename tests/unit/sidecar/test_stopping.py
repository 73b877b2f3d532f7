"""Which wishes that a run stops are passed on."""

from pathlib import Path

from holter.journal.stop_request import StopRequest, write_stop_request
from holter.sidecar.stopping import StopWishes


def wish(directory: Path, at_ns: int, attempt: int = 0) -> StopRequest:
    request = StopRequest(by="ada", at_ns=at_ns, attempt=attempt)
    write_stop_request(str(directory), request)
    return request


def test_a_wish_is_passed_on_once(tmp_path: Path) -> None:
    wishes = StopWishes(str(tmp_path), 1)
    assert wishes.look() is None
    first = wish(tmp_path, 5)
    assert wishes.look() == first
    assert wishes.look() is None
    second = wish(tmp_path, 6)
    assert wishes.look() == second


def test_a_wish_from_before_the_watch_was_for_an_earlier_attempt(tmp_path: Path) -> None:
    wish(tmp_path, 5)
    assert StopWishes(str(tmp_path), 2).look() is None
    wish(tmp_path, 6, attempt=1)
    assert StopWishes(str(tmp_path), 2).look() is None


def test_a_wish_that_was_quicker_than_the_sidecar_counts(tmp_path: Path) -> None:
    request = wish(tmp_path, 5, attempt=2)
    assert StopWishes(str(tmp_path), 2).look() == request


def test_what_is_no_wish_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "stop-request.json").write_text("rubbish")
    assert StopWishes(str(tmp_path), 1).look() is None
