"""Messages with ranges of many files, whole or refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holter.errors import UsageError
from holter.wire.batches import Head, Range, decode_batch, encode_batch


def batch(parts: list[bytes]) -> bytes:
    ranges = [Range(kind="text", name=f"output-{n}.log", offset=n, count=len(part)) for n, part in enumerate(parts)]
    return encode_batch(Head(id="1", ranges=ranges), parts)


@given(st.lists(st.binary(max_size=50), max_size=5))
def test_a_message_says_again_what_was_put_in(parts: list[bytes]) -> None:
    head, found = decode_batch(batch(parts))
    assert (head.id, found) == ("1", parts)
    assert [each.count for each in head.ranges] == [len(part) for part in parts]


@given(st.data())
def test_a_part_of_a_message_is_none(data: st.DataObject) -> None:
    whole = batch([b"abc", b"defg"])
    cut = data.draw(st.integers(0, len(whole) - 1))
    with pytest.raises(UsageError, match="batch"):
        decode_batch(whole[:cut])


def test_more_than_a_message_is_none() -> None:
    with pytest.raises(UsageError, match="its head speaks of"):
        decode_batch(batch([b"abc"]) + b"d")


def test_a_range_below_zero_is_refused() -> None:
    head = Head(id="1", ranges=[Range(kind="journal", name="a", offset=-1, count=0)])
    with pytest.raises(UsageError, match="below zero"):
        decode_batch(encode_batch(head, []))
