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


Filter = Compare | Among | Not | All | Any
