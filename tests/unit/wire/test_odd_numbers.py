"""NaN and the infinities come over the wire as what they are."""

import math

import msgspec

from holter.wire.odd_numbers import in_numbers, in_words

FOUND = {"loss": math.nan, "deep": {"up": math.inf, "list": [-math.inf, 1.5, "text", None, True]}, "n": 3}
SAID = {"loss": "NaN", "deep": {"up": "Infinity", "list": ["-Infinity", 1.5, "text", None, True]}, "n": 3}


def test_json_has_a_word_for_each_and_the_way_back_is_the_same() -> None:
    assert in_words(FOUND) == SAID
    back = in_numbers(msgspec.json.decode(msgspec.json.encode(in_words(FOUND))))
    assert math.isnan(back.pop("loss"))
    assert back == {name: value for name, value in FOUND.items() if name != "loss"}
