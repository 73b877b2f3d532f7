"""Sums in which some of the numbers are not known."""

import math

from holter.probes.probe import NAN
from holter.probes.totals import Counter, known, sum_known


def test_a_counter_starts_where_its_sources_stand() -> None:
    assert Counter().advance({"eth0": 100.0, "eth1": 20.0}) == 120


def test_a_source_that_joins_late_does_not_bring_its_past() -> None:
    kills = Counter()
    kills.advance({"/a": 0.0})
    assert kills.advance({"/b": 7.0}) == 0
    assert kills.advance({"/b": 8.0}) == 1


def test_a_source_that_leaves_or_starts_anew_takes_nothing_back() -> None:
    received = Counter()
    received.advance({"eth0": 100.0, "veth1": 50.0})
    assert received.advance({"eth0": 110.0}) == 160
    assert received.advance({"eth0": 5.0}) == 160
    assert received.advance({"eth0": 9.0}) == 164


def test_a_counter_that_nobody_can_read_is_not_a_number_and_goes_on_later() -> None:
    kills = Counter()
    assert math.isnan(kills.advance({"/a": NAN}))
    assert kills.advance({"/a": 2.0}) == 2
    assert math.isnan(kills.advance({}))
    assert kills.advance({"/a": 3.0}) == 3


def test_a_sum_leaves_out_what_is_not_known() -> None:
    assert sum_known([1.0, NAN, 2.0]) == 3
    assert math.isnan(sum_known([NAN]))
    assert math.isnan(known(None))
