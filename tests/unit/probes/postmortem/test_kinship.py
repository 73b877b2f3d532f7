"""Who descends from whom, as births are told."""

from holter.probes.postmortem.kinship import MOST_KIN, Kinship


def family() -> Kinship:
    return Kinship({1}, stranger=99)


def test_a_grandchild_has_a_line_up_to_the_followed_one() -> None:
    kin = family()
    kin.born(2, 1)
    kin.born(3, 2)
    assert kin.ancestors(3) == (2, 1)


def test_those_of_others_are_no_relatives() -> None:
    kin = family()
    kin.born(8, 7)
    kin.born(9, 8)
    assert kin.ancestors(9) == ()
    assert 8 not in kin


def test_what_the_sidecar_starts_is_no_relative() -> None:
    kin = family()
    kin.born(99, 1)
    kin.born(100, 99)
    assert 100 not in kin


def test_a_pid_that_comes_again_elsewhere_is_no_relative_any_more() -> None:
    kin = family()
    kin.born(2, 1)
    kin.born(2, 7)
    assert kin.ancestors(2) == ()


def test_of_very_many_the_newest_and_the_parents_are_kept() -> None:
    kin = family()
    kin.born(2, 1)
    for pid in range(3, MOST_KIN + 100):
        kin.born(pid, 2)
    assert kin.ancestors(MOST_KIN + 99) == (2, 1)
    assert 3 not in kin
