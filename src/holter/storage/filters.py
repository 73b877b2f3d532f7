"""What a filter of runs can say, as data: engines translate it, the parser makes it."""

import msgspec

Value = str | float | bool | None


class Compare(msgspec.Struct, frozen=True):
    """A field beside a value. Text compares with text, numbers with numbers; a field that is missing is unequal."""

    field: str
    operator: str
    value: Value


class Among(msgspec.Struct, frozen=True):
    """A field that has one of these values."""

    field: str
    values: tuple[Value, ...]


class Not(msgspec.Struct, frozen=True):
    """The opposite."""

    inner: "Filter"


class All(msgspec.Struct, frozen=True):
    """Every one of these holds."""

    parts: "tuple[Filter, ...]"


class Any(msgspec.Struct, frozen=True):
    """At least one of these holds."""

    parts: "tuple[Filter, ...]"


class Mentions(msgspec.Struct, frozen=True):
    """A text that the id, name, notes, host, a tag or a configured text contains, whatever the case of ASCII letters.

    Where the text is a number, also one that a setting has.
    """

    text: str
    number: float | None = None


Filter = Compare | Among | Not | All | Any | Mentions
