"""Texts are cut between words, so that no half of a secret is left."""

import pytest

from holter.client.capture.description import describe
from holter.client.shortened import text_of
from holter.client.values import Room, plain
from holter.model.cutting import bounded, first_words, last_words
from holter.model.masking import Masking
from tests.secret_samples import ONE_LINE, Sample


@pytest.mark.parametrize(
    ("text", "most", "first", "last"),
    [
        ("one two three", 20, "one two three", "one two three"),
        ("one two three", 7, "one two", " three"),
        ("one two three", 5, "one ", "three"),
        ("one two three", 9, "one two ", "two three"),
        ("key=abcdef", 5, "key=", ""),
        ("x" * 1000, 600, "x" * 600, "x" * 600),
    ],
)
def test_a_text_is_cut_between_words(text: str, most: int, first: str, last: str) -> None:
    assert first_words(text, most) == first
    assert last_words(text, most) == last


@pytest.mark.parametrize("sample", ONE_LINE, ids=lambda sample: sample.kind)
def test_no_part_of_a_secret_is_left_where_a_text_is_cut(sample: Sample) -> None:
    masking = Masking()
    at = sample.text.index(sample.secret)
    for left in range(1, min(len(sample.secret), 40)):
        before = "x y " * 300
        most = len(before) + at + left
        text = before + sample.text
        cut = [bounded(text, most), text_of(text, most), first_words(text, most)]
        shown = masking.row({str(number): each for number, each in enumerate(cut)})
        # Fewer than eight letters tell nothing, and may be what all of its kind begin with.
        assert [each for each in shown.values() if left > 8 and each.endswith(sample.secret[left - 8 : left])] == [], (
            left
        )


def test_values_and_exceptions_are_cut_so() -> None:
    text = "x y " * 20_000 + "z"
    assert plain("ab " * 30_000 + "abcdef", "name", Room(lambda cause, said: None)).endswith("ab ")
    raised = describe(ValueError(text), 0)
    assert raised.message == ("x y " * 1024)[:4096]
    assert len(raised.traceback) <= 33 << 10
