"""Numbers for which JSON has no word: NaN and the infinities go over the wire as `NaN`, `Infinity` and `-Infinity`."""

import math
from typing import Any

_NUMBERS = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


def in_words(value: Any) -> Any:  # noqa: ANN401  whatever people configure and log
    """The value, with a word for each such number in it."""
    match value:
        case float():
            if math.isfinite(value):
                return value
            return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
        case dict():
            return {key: in_words(inner) for key, inner in value.items()}
        case list() | tuple():
            return [in_words(inner) for inner in value]
    return value


def in_numbers(value: Any) -> Any:  # noqa: ANN401  as above
    """The way back; a text that is one of the words becomes a number too."""
    match value:
        case str():
            return _NUMBERS.get(value, value)
        case dict():
            return {key: in_numbers(inner) for key, inner in value.items()}
        case list():
            return [in_numbers(inner) for inner in value]
    return value
