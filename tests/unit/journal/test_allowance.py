"""How large a segment may be, and what is kept back for the last words."""

import pytest

from holter.errors import NotKept
from holter.journal.allowance import LARGEST_SIZE, SMALLEST_SIZE, allow


def size(number: int, needed: int = 100, *, left_bytes: int | None = None, for_record: bool = False) -> int:
    return allow(number, needed, wish=0, left_bytes=left_bytes, limit_bytes=4 << 20, for_record=for_record).size


def test_segments_grow_with_the_journal_up_to_their_largest_size() -> None:
    assert [size(number) for number in (1, 2, 3, 4, 50)] == [256 << 10, 1 << 20, 4 << 20, LARGEST_SIZE, LARGEST_SIZE]


def test_a_record_larger_than_a_segment_gets_one_of_its_own_size() -> None:
    assert size(1, 20 << 20) == 20 << 20


def test_rows_leave_the_reserve_alone() -> None:
    assert size(4, left_bytes=1 << 20) == (1 << 20) - (256 << 10)
    with pytest.raises(NotKept, match="disk limit of 4,194,304 bytes"):
        size(4, left_bytes=256 << 10)


def test_a_record_may_use_the_reserve_in_small_pieces() -> None:
    allowance = allow(4, 100, wish=0, left_bytes=256 << 10, limit_bytes=4 << 20, for_record=True)
    assert allowance == (SMALLEST_SIZE, True)


def test_when_the_reserve_is_used_up_nothing_is_allowed() -> None:
    with pytest.raises(NotKept):
        size(4, left_bytes=SMALLEST_SIZE - 1, for_record=True)
