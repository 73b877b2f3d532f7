"""Takes users' values by value: plain numbers and text leave, no reference to an object of theirs stays."""

import math
from collections.abc import Callable, Mapping
from datetime import date, datetime
from typing import Any

MOST_TEXT = 64 << 10
MOST_KEY = 512
MOST_ITEMS = 10_000
DEEPEST = 16
_PLAIN = (float, int, bool, str)
_LARGEST_INT = (1 << 64) - 1
_SMALLEST_INT = -(1 << 63)

Complain = Callable[[str, str], None]
"""Called with a cause and a sentence for each value that could not be stored as it is."""


def plain_row(data: Mapping[Any, Any], complain: Complain) -> dict[str, Any]:
    """A flat row: nested dicts become `outer.inner`. Raises TypeError where `data` is not a mapping."""
    row: dict[str, Any] = {}
    _flatten(data, "", row, complain, 0)
    return row


def plain_tree(data: Mapping[Any, Any], complain: Complain) -> dict[str, Any]:
    """The same values with their nesting kept, for the configuration."""
    return {str(key)[:MOST_KEY]: _branch(value, str(key), complain, 0) for key, value in list(data.items())}


def plain(value: Any, name: str, complain: Complain, /) -> Any:
    """One value as a number, text, list or None; whatever it is, without raising."""
    kind = type(value)
    if kind is float or kind is bool or value is None:
        return value
    if kind is int:
        return value if _SMALLEST_INT <= value <= _LARGEST_INT else _described(value, name, complain)
    if kind is str:
        return _bounded(value, name, complain)
    return _converted(value, name, complain)


def _flatten(data: Mapping[Any, Any], prefix: str, row: dict[str, Any], complain: Complain, depth: int) -> None:
    for key, value in list(data.items()):
        name = (prefix + (key if type(key) is str else str(key)))[:MOST_KEY]
        if isinstance(value, Mapping):
            if depth < DEEPEST:
                _flatten(value, name + ".", row, complain, depth + 1)
            else:
                row[name] = _described(value, name, complain)
        else:
            row[name] = plain(value, name, complain)


def _branch(value: Any, name: str, complain: Complain, depth: int) -> Any:
    if depth >= DEEPEST:
        return _described(value, name, complain)
    if isinstance(value, Mapping):
        return {
            str(key)[:MOST_KEY]: _branch(inner, f"{name}.{key}", complain, depth + 1) for key, inner in value.items()
        }
    if isinstance(value, list | tuple) and len(value) <= MOST_ITEMS:
        return [_branch(inner, name, complain, depth + 1) for inner in value]
    return plain(value, name, complain)


def _converted(value: Any, name: str, complain: Complain) -> Any:
    try:
        if isinstance(value, list | tuple):
            return _items(value, name, complain)
        if isinstance(value, datetime | date):
            return value.isoformat()
        if isinstance(value, float | int | str):  # subclasses: enums, numpy.float64
            return plain(_base(value), name, complain)
        scalar = scalar_of(value)
        if type(scalar) in _PLAIN:
            return plain(scalar, name, complain)
    except Exception as error:  # noqa: BLE001  users' own classes may raise anything from anything
        complain(f"value:{name}", f"{name!r} could not be read ({type(error).__name__}): its description is kept")
    return _described(value, name, complain)


def _base(value: float | int | str) -> float | int | str:
    if isinstance(value, bool):
        return bool(value)
    return float(value) if isinstance(value, float) else int(value) if isinstance(value, int) else str.__str__(value)


def scalar_of(value: Any) -> Any:
    """The Python number inside a scalar of numpy, torch, jax or tensorflow, found by its methods alone.

    Returns `value` itself where it is not one number. May wait for a device, as `.item()` does.
    """
    shape = getattr(value, "shape", None)
    if shape is not None and math.prod(tuple(shape)) != 1:
        return value
    if (item := getattr(value, "item", None)) is not None:
        return item()
    if (numpy := getattr(value, "numpy", None)) is not None:  # tensorflow's eager tensors
        return numpy().item()
    if hasattr(type(value), "__float__") and not isinstance(value, complex):  # Decimal, Fraction
        return float(value)
    return value


def _items(value: list[Any] | tuple[Any, ...], name: str, complain: Complain) -> Any:
    if len(value) > MOST_ITEMS:
        return _described(value, name, complain)
    return [
        plain(inner, name, complain) if inner is None or type(inner) in _PLAIN else _described(inner, name, complain)
        for inner in value
    ]


def _bounded(text: str, name: str, complain: Complain) -> str:
    if len(text) > MOST_TEXT:
        complain(f"value:{name}", f"{name!r} has {len(text):,} characters: the first {MOST_TEXT:,} are kept")
        text = text[:MOST_TEXT]
    # A lone surrogate has no UTF-8 form.
    return text.encode("utf-8", "replace").decode("utf-8") if not text.isascii() else text


def _described(value: Any, name: str, complain: Complain) -> str:
    try:
        text = repr(value)[:1000]
    except Exception as error:  # noqa: BLE001  a user's __repr__
        text = f"<{type(value).__name__}: its repr raised {type(error).__name__}>"
    complain(f"value:{name}", f"{name!r} is a {type(value).__name__}, which has no place in a row: its repr is kept")
    return _bounded(text, name, lambda cause, sentence: None)
