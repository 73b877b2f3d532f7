"""How long a sender waits after a failure, and how often many of them may send."""

from holter.errors import Refused, Unreachable
from holter.server.ingest.pacing import Pacer
from holter.sidecar.uploading import Backoff


def test_waits_grow_up_to_a_minute_and_begin_again() -> None:
    backoff = Backoff(jitter=lambda: 1.0)
    waits = [backoff.next_s(Unreachable("no answer")) for _ in range(9)]
    assert waits == [0.5, 1, 2, 4, 8, 16, 32, 60, 60]
    backoff.reset()
    assert backoff.next_s(Unreachable("no answer")) == 0.5


def test_no_two_senders_wait_for_the_same_time() -> None:
    waits = {Backoff().next_s(Unreachable("no answer")) for _ in range(20)}
    assert len(waits) > 10
    assert min(waits) >= 0.25


def test_a_server_that_asks_for_patience_gets_it() -> None:
    backoff = Backoff(jitter=lambda: 0.0)
    assert backoff.next_s(Refused(503, "full", retry_s=30)) == 30
    assert backoff.next_s(Unreachable("a proxy", retry_s=120)) == 120
    assert backoff.next_s(Refused(429, "too many", retry_s=86400)) == 600


def test_a_key_that_is_refused_is_not_tried_again_at_once() -> None:
    assert Backoff(jitter=lambda: 0.0).next_s(Refused(401, "unknown key")) == 30


def test_few_runs_may_send_each_second_and_many_share_what_there_is() -> None:
    pacer = Pacer()
    assert pacer.note("one", 100.0, is_watched=False) == 1.0
    for number in range(1000):
        pacer.note(f"run{number}", 100.0, is_watched=False)
    assert 3.9 < pacer.note("one", 102.0, is_watched=False) < 4.1
    assert pacer.note("one", 200.0, is_watched=False) == 1.0


def test_while_somebody_watches_rows_come_sooner() -> None:
    pacer = Pacer()
    assert pacer.note("one", 100.0, is_watched=True) == 0.5
    for number in range(200):
        pacer.note(f"run{number}", 100.0, is_watched=True)
    assert 0.75 < pacer.note("one", 102.0, is_watched=True) < 0.85


def test_nobody_waits_so_long_that_it_looks_dead() -> None:
    pacer = Pacer()
    for number in range(10_000):
        pacer.note(f"run{number}", 100.0, is_watched=True)
    assert pacer.note("one", 102.0, is_watched=True) == 10.0


def test_hours_without_a_server_are_a_try_a_minute_and_end_within_one() -> None:
    backoff, passed_s, tries = Backoff(), 0.0, 0
    while passed_s < 6 * 3600:
        passed_s += backoff.next_s(Unreachable("no answer"))
        tries += 1
    assert 360 <= tries <= 760
    assert backoff.next_s(Unreachable("no answer")) <= 60


def test_a_busy_server_is_not_left_alone_for_longer_than_it_asks_for() -> None:
    backoff = Backoff(jitter=lambda: 1.0)
    waits = [backoff.next_s(Refused(503, "too much is sent at once", retry_s=5)) for _ in range(20)]
    assert max(waits) == 15.0


def test_an_index_that_is_behind_gets_fewer_messages_before_any_is_refused() -> None:
    pacer = Pacer()
    assert pacer.note("one", 100.0, is_watched=True, behind_s=0.5) == 0.5
    assert pacer.note("one", 100.0, is_watched=True, behind_s=8.0) == 4.0
    assert pacer.note("one", 100.0, is_watched=True, behind_s=600.0) == 10.0
