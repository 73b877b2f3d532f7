"""Takes users' values by value: plain numbers and text leave, no reference to an object of theirs stays."""

import enum
import math
import os
from collections.abc import Callable, Mapping, Sequence, Set
from datetime import date, datetime
from typing import Any

from holter.client.named_values import Unreadable, named_values

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
    return _branches(data, "", complain, 0)


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


def _branches(data: Mapping[Any, Any], prefix: str, complain: Complain, depth: int) -> dict[str, Any]:
    return {str(key)[:MOST_KEY]: _branch(value, f"{prefix}{key}", complain, depth) for key, value in list(data.items())}


def _branch(value: Any, name: str, complain: Complain, depth: int) -> Any:
    if value is None or type(value) in _PLAIN:
        return plain(value, name, complain)
    if depth >= DEEPEST:
        return _described(value, name, complain)
    if (inner := _try(named_values, value)) is not None:
        return _branches(inner, f"{name}.", complain, depth + 1)
    if (items := _try(_listed, value)) is not None:
        return [_branch(each, name, complain, depth + 1) for each in items]
    return plain(value, name, complain)


def _try(look: Callable[[Any], Any], value: Any) -> Any:
    try:
        return look(value)
    except Exception:  # noqa: BLE001  users' own classes may raise anything from anything
        return None


def _listed(value: Any) -> list[Any] | None:
    """The items of what is a list to people; None for what is none or too long."""
    if isinstance(value, Set) and len(value) <= MOST_ITEMS:
        return sorted(value, key=lambda each: (type(each).__name__, str(each)))
    is_list = isinstance(value, Sequence) and not isinstance(value, str | bytes | bytearray | memoryview)
    return list(value) if is_list and len(value) <= MOST_ITEMS else None


def _converted(value: Any, name: str, complain: Complain) -> Any:
    try:
        if isinstance(value, list | tuple):
            return _items(value, name, complain)
        if isinstance(value, datetime | date):
            return value.isoformat()
        if isinstance(value, Unreadable):
            complain(f"value:{name}", f"{name!r} could not be read ({value.because}): its description is kept")
        if isinstance(value, os.PathLike):
            value = os.fsdecode(value)
        if isinstance(value, float | int | str):  # subclasses: enums, numpy.float64
            return plain(_base(value), name, complain)
        if isinstance(value, enum.Enum):
            return plain(value.name, name, complain)
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
