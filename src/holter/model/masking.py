"""Hides secrets in the records and rows of a run before they are written, and counts them."""

import functools
import re
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from holter.model.awaiting import Awaited
from holter.model.metric_definitions import Defined
from holter.model.record import Record, Row
from holter.model.records import (
    Alerted,
    Beat,
    CellStarted,
    Configured,
    Console,
    Declared,
    Described,
    Exited,
    Facts,
    Flushed,
    KernelAsked,
    Launched,
    Masked,
    Opened,
    Preempting,
    Raised,
    Summarised,
    Totals,
)
from holter.model.secret_kinds import SHORTEST
from holter.model.secret_names import tells_of_secret
from holter.model.secrets import MASK, mask

# They have no text of the program's in them, or were looked through already: a cell's source, as code.
_CLEAN = (
    Opened,
    Declared,
    Totals,
    Beat,
    Exited,
    Flushed,
    Preempting,
    KernelAsked,
    Console,
    CellStarted,
    Masked,
    Defined,
    Awaited,
)
_PLACES: dict[type[Record], str] = {
    Configured: "config",
    Summarised: "summary",
    Described: "name, notes or tags",
    Raised: "exceptions",
    Alerted: "alerts",
    Launched: "command",
    Facts: "surroundings",
}
_OPTION = r"--?[A-Za-z][\w.-]{0,60}"
# What a count may be named after: a name is the user's own, and may be anything.
_SAYABLE = r"[A-Za-z][\w-]{0,40}"
_SHORTEST = 8
MOST_REMEMBERED = 10_000
MOST_NAMED = 3
# In a traceback: a frame, with the lines of code that Python shows below it.
_FRAME = r'(?m)(^ +File "[^\n]*", line [^\n]*\n(?: {4}[^\n]*\n?)*)'

_masked_name = functools.lru_cache(4096)(mask)


class Masking:
    """What one process hides. Thread-safe as far as several threads may find the same secret at the same moment.

    Args:
        allowed: names whose values are no secrets, whatever they look like: `api_key`, or `model.api_key`.
    """

    def __init__(self, allowed: Iterable[str] = ()) -> None:
        self.counts: dict[str, int] = {}
        """How many different secrets, by kind and place: `password in config`."""
        self.has_news = False
        """There are more of them than when this was last set to false."""
        self._allowed = frozenset(allowed)
        self._known: set[tuple[str, int]] = set()

    def record(self, record: Record) -> Record:
        """The same record without secrets."""
        if isinstance(record, _CLEAN):
            return record
        place = _PLACES.get(type(record), "other records")
        plain: dict[str, Any] = msgspec.to_builtins(record)
        hidden = {name: self._value(value, name, place=place) for name, value in plain.items() if name != "traceback"}
        if isinstance(record, Raised):
            hidden["traceback"] = self._traceback(record.traceback, place)
        if hidden == plain:
            return record
        return msgspec.convert(hidden, type(record))

    def row(self, row: Row) -> Row:
        """The same row without secrets in its texts and names; numbers cost nothing but a look at their type."""
        if any(len(key) >= SHORTEST and _masked_name(key) != key for key in row):
            row = {self._text(key, "", place="names of values"): value for key, value in row.items()}
        if not any(type(value) in (str, list) for value in row.values()):
            return row
        return {key: self._value(value, _name_of_text(key), place="rows") for key, value in row.items()}

    def begin_journal(self) -> None:
        """Another journal follows, in which only what is new is counted: the one before has said the rest."""
        self.counts = {}
        self.has_news = False

    def found(self, kind: str, secret: str, *, place: str) -> None:
        """Count a secret that was hidden somewhere; the same one at the same place counts once."""
        key = (place, hash((kind, secret)))
        if key in self._known or len(self._known) >= MOST_REMEMBERED:
            return
        self._known.add(key)
        name = f"{kind} in {place}"
        self.counts[name] = self.counts.get(name, 0) + 1
        self.has_news = True

    def _value(self, value: object, name: str, *, place: str) -> object:
        if type(value) is str:
            return self._text(value, name, place=place)
        if isinstance(value, Mapping):
            return self._branch(value, name, place=place)
        if isinstance(value, list | tuple):
            return self._items(value, name, place=place)
        return value

    def _branch(self, values: Mapping[Any, Any], name: str, *, place: str) -> dict[Any, Any]:
        # The first name is that of our own field: `config`, `summary`, `facts`.
        return {
            self._text(key, "", place=place) if type(key) is str else key: self._value(
                value, f"{name}.{key}", place=place
            )
            for key, value in values.items()
        }

    def _items(self, items: list[Any] | tuple[Any, ...], name: str, *, place: str) -> list[Any]:
        """A list may be a command line, in which a value stands behind its name."""
        shown: list[Any] = []
        for before, item in zip(["", *items], items, strict=False):
            own = before if type(before) is str and re.fullmatch(_OPTION, before) else name
            option, equals, value = item.partition("=") if type(item) is str else ("", "", "")
            if equals and not value.startswith("=") and tells_of_secret(option):  # `jwt==1.3.1` is a package
                shown.append(f"{option}={self._text(value, option.lstrip('-+~'), place=place)}")
            else:
                shown.append(self._value(item, own.lstrip("-"), place=place))
        return shown

    def _text(self, text: str, name: str, *, place: str) -> str:
        if not text or text == MASK or self._is_allowed(name):
            return text
        if tells_of_secret(name):
            own = name.rpartition(".")[2]
            self.found(mask(own) if re.fullmatch(_SAYABLE, own) else "value", text, place=place)
            return MASK
        if len(text) < _SHORTEST:
            return text
        return mask(text, lambda kind, secret: self.found(kind, secret, place=place))

    def _traceback(self, text: str, place: str) -> str:
        parts = re.split(_FRAME, text)
        return "".join(
            mask(part, lambda kind, secret: self.found(kind, secret, place=place), is_code=bool(number % 2))
            for number, part in enumerate(parts)
        )

    def _is_allowed(self, name: str) -> bool:
        if not self._allowed or not name:
            return False
        return not self._allowed.isdisjoint((name, name.rpartition(".")[2], name.partition(".")[2]))


def _name_of_text(key: str) -> str:
    """That of a row's value, as far as it tells of a secret: a plain `token` is one of a text."""
    return "" if key.lower().endswith("token") and key.replace("/", ".").rpartition(".")[2].lower() == "token" else key


def masked_in_words(counts: Mapping[str, int]) -> str:
    """For people: `3 secrets (api_key in config, password in config, token in console)`."""
    total = sum(counts.values())
    named = list(counts)[:MOST_NAMED]
    more = ["…"] if len(counts) > len(named) else []
    return f"{total:,} secret{'' if total == 1 else 's'} ({', '.join([*named, *more])})"
