"""Takes users' values by value: plain numbers and text leave, no reference to an object of theirs stays."""

import enum
import math
import os
from collections.abc import Callable, Mapping, Sequence, Set
from datetime import date, datetime
from itertools import islice
from typing import Any

from holter.client.named_values import Unreadable, named_values
from holter.client.shortened import shortened, text_of
from holter.model.cutting import as_utf8, first_words

MOST_TEXT = 64 << 10
MOST_REPR = 1_000
MOST_KEY = 512
MOST_ITEMS = 10_000
MOST_IN_ARRAY = 32
"""Arrays of so many values are lists in the row, as with W&B; larger ones of numbers become histograms."""
DEEPEST = 16
# In one call.
MOST_VALUES = 100_000
MOST_LISTED = 1_000_000
MOST_DESCRIBED = 1_000
MOST_TEXTS = 16 << 20
_PLAIN = (float, int, bool, str)
_LARGEST_INT = (1 << 64) - 1
_SMALLEST_INT = -(1 << 63)

Complain = Callable[[str, str], object]
"""Called with a cause and a sentence for each value that could not be stored as it is."""


class Room:
    """What one call may still take: a row of a million keys must not hold up the program."""

    def __init__(self, complain: Complain) -> None:
        self.complain = complain
        self.values = MOST_VALUES
        self.listed = MOST_LISTED
        self.described = MOST_DESCRIBED
        self.texts = MOST_TEXTS

    def items(self, data: Mapping[Any, Any]) -> list[tuple[Any, Any]]:
        """Those of a mapping that are taken: the first ones."""
        taken = list(islice(data.items(), self.values))
        self.values -= len(taken)
        # Only where there is no room: the program may be changing it in another thread.
        if not self.values and (left_out := len(data) - len(taken)) > 0:
            self.complain(
                "too-many-values",
                f"a row has more than {MOST_VALUES:,} values: the first {MOST_VALUES:,} are kept, {left_out:,} or more "
                "are not; log them in other calls with the same step",
            )
        return taken


def plain_row(data: Mapping[Any, Any], complain: Complain) -> dict[str, Any]:
    """A flat row: nested dicts become `outer.inner`. Raises TypeError where `data` is not a mapping."""
    row: dict[str, Any] = {}
    _flatten(data, "", row, Room(complain), 0)
    return row


def plain_tree(data: Mapping[Any, Any], complain: Complain) -> dict[str, Any]:
    """The same values with their nesting kept, for the configuration."""
    return _branches(data, "", Room(complain), 0)


def plain(value: Any, name: str, room: Room, /) -> Any:
    """One value as a number, text, list or None; whatever it is, without raising."""
    kind = type(value)
    if kind is float or kind is bool or value is None:
        return value
    if kind is int:
        return value if _SMALLEST_INT <= value <= _LARGEST_INT else _described(value, name, room)
    if kind is str:
        return _bounded(value, name, room)
    return _converted(value, name, room)


def _flatten(data: Mapping[Any, Any], prefix: str, row: dict[str, Any], room: Room, depth: int) -> None:
    for key, value in room.items(data):
        name = _name(key, prefix, room)
        if isinstance(value, Mapping):
            if depth < DEEPEST:
                _flatten(value, name + ".", row, room, depth + 1)
            else:
                row[name] = _described(value, name, room)
        else:
            row[name] = plain(value, name, room)


def _name(key: Any, prefix: str, room: Room) -> str:
    text = key if type(key) is str else text_of(key, MOST_KEY + 1)
    if len(prefix) + len(text) <= MOST_KEY:
        return prefix + text
    name = (prefix + text[:MOST_KEY])[:MOST_KEY]
    room.complain(f"key:{name}", f"a name is longer than {MOST_KEY} characters, and is cut to {name!r}")
    return name


def _branches(data: Mapping[Any, Any], prefix: str, room: Room, depth: int) -> dict[str, Any]:
    return {
        _name(key, "", room): _branch(value, _name(key, prefix, room), room, depth) for key, value in list(data.items())
    }


def _branch(value: Any, name: str, room: Room, depth: int) -> Any:
    if value is None or type(value) in _PLAIN:
        return plain(value, name, room)
    if depth >= DEEPEST:
        return _described(value, name, room)
    if (inner := _try(named_values, value)) is not None:
        return _branches(inner, f"{name}.", room, depth + 1)
    if (items := _try(_listed, value)) is not None and _has_place(items, room):
        return [_branch(each, name, room, depth + 1) for each in items]
    return plain(value, name, room)


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


def _converted(value: Any, name: str, room: Room) -> Any:
    try:
        if isinstance(value, list | tuple):
            return _items(value, name, room)
        if isinstance(value, datetime | date):
            return value.isoformat()
        if isinstance(value, Unreadable):
            room.complain(f"value:{name}", f"{name!r} could not be read ({value.because}): its description is kept")
        if isinstance(value, os.PathLike):
            value = os.fsdecode(value)
        if isinstance(value, float | int | str):  # subclasses: enums, numpy.float64
            return plain(_base(value), name, room)
        if isinstance(value, enum.Enum):
            return plain(value.name, name, room)
        scalar = scalar_of(value)
        if type(scalar) in _PLAIN:
            return plain(scalar, name, room)
        if (listed := _small_array(scalar)) is not None:
            return _items(listed, name, room)
    except Exception as error:  # noqa: BLE001  users' own classes may raise anything from anything
        room.complain(f"value:{name}", f"{name!r} could not be read ({type(error).__name__}): its description is kept")
    return _described(value, name, room)


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


def _small_array(value: Any) -> list[Any] | None:
    """The numbers or texts of an array that is no larger than a list in a row should be; None for anything else."""
    shape = getattr(value, "shape", None)
    if not shape or not hasattr(value, "tolist") or math.prod(tuple(shape)) > MOST_IN_ARRAY:
        return None
    listed = value.tolist()
    return listed if isinstance(listed, list) else None


def _items(value: list[Any] | tuple[Any, ...], name: str, room: Room, depth: int = 0) -> Any:
    if not _has_place(value, room):
        return _described(value, name, room)
    return [_item(inner, name, room, depth) for inner in value]


def _item(value: Any, name: str, room: Room, depth: int) -> Any:
    if value is None or type(value) in _PLAIN:
        return plain(value, name, room)
    if isinstance(value, list | tuple) and depth < DEEPEST:
        return _items(value, name, room, depth + 1)
    # To read a distributed tensor, all ranks have to: that is the program's to do.
    is_shared = any(kind.__name__ == "DTensor" for kind in type(value).__mro__)
    is_inner = isinstance(value, list | tuple | dict)
    return _described(value, name, room) if is_inner or is_shared else _converted(value, name, room)


def _has_place(value: list[Any] | tuple[Any, ...], room: Room) -> bool:
    if len(value) > min(MOST_ITEMS, room.listed):
        return False
    room.listed -= len(value)
    return True


def _bounded(text: str, name: str, room: Room) -> str:
    most = min(MOST_TEXT, room.texts)
    if len(text) > most:
        room.complain(f"value:{name}", f"{name!r} has {len(text):,} characters: the first {most:,} are kept")
        text = first_words(text, most)
    room.texts -= len(text)
    return as_utf8(text)


def _described(value: Any, name: str, room: Room) -> str:
    room.described -= 1
    if room.described < 0:
        room.complain(
            "too-many-described",
            f"more than {MOST_DESCRIBED:,} values of a row have no place in it: of the others, as {name!r}, only the "
            "type is kept",
        )
        return f"<{type(value).__name__}>"
    try:
        text = shortened(value, MOST_REPR)
    except Exception as error:  # noqa: BLE001  a user's __repr__
        text = f"<{type(value).__name__}: its repr raised {type(error).__name__}>"
    is_whole = len(text) < MOST_REPR
    kept = "its repr is kept" if is_whole else f"the first {MOST_REPR:,} characters of its repr are kept"
    room.complain(f"value:{name}", f"{name!r} {_misfit(value)}: {kept}")
    return as_utf8(text if is_whole else first_words(text, MOST_REPR - 1))


def _misfit(value: Any) -> str:
    if isinstance(value, list | tuple) and len(value) > MOST_ITEMS:
        return f"has {len(value):,} items, and a row takes {MOST_ITEMS:,} in a list"
    kind = type(value).__name__
    return f"is a{'n' if kind[:1].lower() in 'aeiou' else ''} {kind}, which has no place in a row"
