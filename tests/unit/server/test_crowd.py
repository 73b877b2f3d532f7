"""Places for connections: strangers never keep out those who have a key."""

from itertools import count

import pytest

from holter.server.process.crowd import NEW_S, STRANGERS_OF_ONE, Crowd
from holter.server.security.limits import neighbourhood


class Connected:
    """A connection that says whether it was ended."""

    def __init__(self, *, is_busy: bool = False) -> None:
        self.is_busy = is_busy
        self.was_sent_away = False

    def send_away(self) -> None:
        self.was_sent_away = True


def enter(crowd: Crowd, number: int, address: str = "192.0.2.1", *, is_busy: bool = False) -> list[Connected]:
    guests = [Connected(is_busy=is_busy) for _ in range(number)]
    assert all(crowd.enter(guest, address) for guest in guests)
    return guests


def gone(guests: list[Connected]) -> int:
    return sum(guest.was_sent_away for guest in guests)


def test_of_many_strangers_from_one_address_those_stay_who_came_last() -> None:
    crowd = Crowd(1000, clock=count(step=NEW_S).__next__)
    other = enter(crowd, 1, "192.0.2.2")
    many = enter(crowd, STRANGERS_OF_ONE + 10)
    assert [guest.was_sent_away for guest in many] == [True] * 10 + [False] * STRANGERS_OF_ONE
    assert gone(other) == 0
    assert (crowd.strangers, crowd.sent_away) == (STRANGERS_OF_ONE + 1, 10)


def test_a_cluster_that_comes_at_once_from_one_address_may_say_something_first() -> None:
    now = 0.0
    crowd = Crowd(1000, clock=lambda: now)
    cluster = enter(crowd, 3 * STRANGERS_OF_ONE)
    assert gone(cluster) == 0
    now = NEW_S
    enter(crowd, 5)
    assert [guest.was_sent_away for guest in cluster[:6]] == [True] * 5 + [False]


def test_who_is_being_answered_stays_before_who_says_nothing() -> None:
    crowd = Crowd(1000, clock=count(step=NEW_S).__next__)
    asking = enter(crowd, 1, is_busy=True)
    many = enter(crowd, STRANGERS_OF_ONE)
    assert (gone(asking), many[0].was_sent_away) == (0, True)


def test_behind_a_proxy_there_are_many() -> None:
    crowd = Crowd(1000, is_proxy=lambda address: address == "192.0.2.1")
    assert gone(enter(crowd, 2 * STRANGERS_OF_ONE)) == 0


def test_strangers_from_everywhere_have_a_quarter_of_the_places() -> None:
    crowd = Crowd(40)
    for number in range(100):
        enter(crowd, 1, f"192.0.2.{number}")
    assert crowd.strangers == 10


def test_who_has_shown_a_key_is_not_sent_away_for_a_stranger() -> None:
    crowd = Crowd(8)
    known = enter(crowd, 2)
    for guest in known:
        crowd.welcome(guest)
    enter(crowd, 50)
    assert (gone(known), crowd.known) == (0, 2)


def test_where_all_places_are_taken_who_was_idle_for_longest_goes() -> None:
    crowd = Crowd(4)
    known = []
    for _ in range(4):
        known += enter(crowd, 1)
        crowd.welcome(known[-1])
    crowd.welcome(known[0])
    enter(crowd, 1)
    assert [guest.was_sent_away for guest in known] == [False, True, False, False]


def test_where_everybody_is_busy_the_next_one_is_refused() -> None:
    crowd = Crowd(2)
    for _ in range(2):
        crowd.welcome(enter(crowd, 1, is_busy=True)[0])
    assert not crowd.enter(Connected(), "192.0.2.9")
    assert crowd.refused == 1


def test_who_leaves_leaves_nothing_behind() -> None:
    crowd = Crowd(100)
    guests = enter(crowd, 10)
    crowd.welcome(guests[0])
    for guest in guests:
        crowd.leave(guest)
        crowd.leave(guest)
        crowd.welcome(guest)
    assert (crowd.strangers, crowd.known, crowd._by_address) == (0, 0, {})


@pytest.mark.parametrize(
    ("address", "whose"),
    [
        ("192.0.2.1", "192.0.2.1"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:2::9", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("", ""),
        ("testclient", "testclient"),
    ],
)
def test_an_address_stands_for_whoever_has_all_those_near_it(address: str, whose: str) -> None:
    assert neighbourhood(address) == whose
