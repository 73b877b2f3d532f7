"""Many alike records leave a few."""

from holter.model.thinning import MOST_KINDS, Thinning


def test_the_first_few_are_kept_and_then_ever_fewer() -> None:
    thinning = Thinning()
    kept = [times for times in (thinning.count("sleep") for _ in range(1000)) if times]
    assert kept == [1, 2, 3, 4, 8, 16, 32, 64, 128, 256, 512]


def test_each_kind_is_counted_by_itself() -> None:
    thinning = Thinning()
    assert [thinning.count("a") for _ in range(6)] == [1, 2, 3, 4, 0, 0]
    assert thinning.count("b") == 1


def test_ever_new_kinds_become_one() -> None:
    thinning = Thinning()
    kept = [number for number in range(MOST_KINDS + 1000) if thinning.count(number)]
    assert kept[:MOST_KINDS] == list(range(MOST_KINDS))
    assert len(kept) == MOST_KINDS + 11
