"""The beginning of what a value would print, without making all of it."""

import contextlib
import sys
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any

from holter.model.cutting import first_words

DEEPEST = 16
# Python itself refuses to print more digits, and takes long for a little fewer.
MOST_BITS = 14_000

Pieces = Callable[[Any, int, int], Iterator[str]]


def shortened(value: Any, most: int) -> str:
    """About the first `most` characters of `repr(value)`; raises what a user's `__repr__` raises.

    Of text, of the containers that Python has, however they are nested, and of dataclasses no more is looked at than
    is shown. Anything else prints itself, as long as that takes.
    """
    pieces: list[str] = []
    left = most
    for piece in _pieces(value, most, 0):
        pieces.append(piece)
        left -= len(piece)
        if left <= 0:
            break
    return "".join(pieces)[:most]


def text_of(value: Any, most: int) -> str:
    """The first words of `str(value)`, in at most so many characters, in the same way."""
    if type(value) is not str and type(value).__repr__ in _CONTAINERS:
        return shortened(value, most)
    return first_words(str(value), most)


def _pieces(value: Any, most: int, depth: int) -> Iterator[str]:
    kind = type(value)
    pieces = _CONTAINERS.get(kind.__repr__)
    if pieces is not None:
        return pieces(value, most, depth + 1) if depth < DEEPEST else iter(("...",))
    if kind.__repr__ in _TEXTS or kind is getattr(sys.modules.get("array"), "array", None):
        return iter((repr(value[:most]),))
    if kind is int and value.bit_length() > MOST_BITS:
        return iter((f"<an integer of {value.bit_length():,} bits>",))
    if _prints_its_fields(kind):
        return _fields(value, most, depth + 1)
    return iter((repr(value),))


def _prints_its_fields(kind: type) -> bool:
    """Whether it is a dataclass whose `__repr__` nobody wrote."""
    made = getattr(getattr(kind.__repr__, "__wrapped__", None), "__code__", None)
    return hasattr(kind, "__dataclass_fields__") and getattr(made, "co_filename", "") == "<string>"


def _fields(value: Any, most: int, depth: int) -> Iterator[str]:
    shown = [name for name, field in type(value).__dataclass_fields__.items() if field.repr]
    yield f"{type(value).__qualname__}("
    for number, name in enumerate(shown):
        yield f"{', ' if number else ''}{name}="
        yield from _pieces(getattr(value, name), most, depth) if depth < DEEPEST else ("...",)
    yield ")"


def _sequence(opening: str, closing: str) -> Pieces:
    def pieces(value: Any, most: int, depth: int, /) -> Iterator[str]:
        yield opening
        yield from _items(value, most, depth)
        yield f",{closing}" if closing == ")" and len(value) == 1 else closing

    return pieces


def _items(items: Iterable[Any], most: int, depth: int) -> Iterator[str]:
    for number, inner in enumerate(_first(items, most)):
        if number:
            yield ", "
        yield from _pieces(inner, most, depth)


def _first(items: Iterable[Any], most: int) -> list[Any]:
    """All at once: whoever goes through what another thread changes would fail."""
    for _ in range(8):
        with contextlib.suppress(RuntimeError):  # changed between two calls of this line
            return list(islice(items, most))
    return list(items)[:most]


def _set(value: Any, most: int, depth: int) -> Iterator[str]:
    is_plain = type(value) is set and len(value) > 0
    yield "{" if is_plain else f"{type(value).__name__}(" + ("{" if value else "")
    yield from _items(value, most, depth)
    yield "}" if is_plain else ("}" if value else "") + ")"


def _dict(value: Any, most: int, depth: int) -> Iterator[str]:
    yield "{"
    for number, (key, inner) in enumerate(_first(dict.items(value), most)):
        if number:
            yield ", "
        yield from _pieces(key, most, depth)
        yield ": "
        yield from _pieces(inner, most, depth)
    yield "}"


def _named(pieces: Pieces) -> Pieces:
    def named(value: Any, most: int, depth: int, /) -> Iterator[str]:
        yield f"{type(value).__name__}("
        if isinstance(value, defaultdict):
            yield f"{value.default_factory!r}, "
        yield from pieces(value, most, depth)
        yield ")"

    return named


_list = _sequence("[", "]")
_TEXTS: set[Any] = {str.__repr__, bytes.__repr__, bytearray.__repr__}
# By what prints them: a class of the user's that prints itself in another way is left to do so.
_CONTAINERS: dict[Any, Pieces] = {
    list.__repr__: _list,
    tuple.__repr__: _sequence("(", ")"),
    dict.__repr__: _dict,
    set.__repr__: _set,
    frozenset.__repr__: _set,
    deque.__repr__: _named(_list),
    defaultdict.__repr__: _named(_dict),
    OrderedDict.__repr__: _named(_dict),
    Counter.__repr__: _named(_dict),
}
