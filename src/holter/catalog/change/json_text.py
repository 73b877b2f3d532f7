"""Writes plain values as indented JSON, as the standard library's `json` does, which takes longer to load. Pure."""

import math
from _json import encode_basestring as _quoted
from collections.abc import Mapping

_WORDS = {None: "null", True: "true", False: "false"}


def to_json(value: object) -> str:
    """The value, with a line break at the end. Raises TypeError for what JSON has no word for."""
    return f"{_text(value, chr(10))}\n"


def _text(value: object, line: str) -> str:
    if isinstance(value, str):
        return _quoted(value)
    if value is None or isinstance(value, bool):
        return _WORDS[value]
    if isinstance(value, int):
        return int.__repr__(value)
    if isinstance(value, float):
        return _number(value)
    deeper = f"{line}  "
    if isinstance(value, Mapping):
        pairs = [f"{_key(key)}: {_text(each, deeper)}" for key, each in value.items()]
        return f"{{{deeper}{f',{deeper}'.join(pairs)}{line}}}" if pairs else "{}"
    if isinstance(value, list | tuple):
        items = [_text(each, deeper) for each in value]
        return f"[{deeper}{f',{deeper}'.join(items)}{line}]" if items else "[]"
    raise TypeError(f"JSON has no word for a value of type {type(value).__name__}")


def _key(key: object) -> str:
    return _quoted(key if isinstance(key, str) else _text(key, ""))


def _number(value: float) -> str:
    if math.isfinite(value):
        return float.__repr__(value)
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
