"""Reads the records of W&B's run files: what its protobuf says of names and values, which are JSON each."""

import json
from collections.abc import Iterator
from typing import Any

import msgspec

from holter.formats.protobuf import Malformed, as_bytes, as_int, as_text, fields, signed, varint

HISTORY, SUMMARY, CONFIG, STATS, ALERT, OUTPUT, RUN, EXIT, ENVIRONMENT = 2, 3, 5, 7, 10, 13, 17, 18, 26
"""Numbers of the kinds of records that a run needs."""
KINDS = frozenset((HISTORY, SUMMARY, CONFIG, STATS, ALERT, OUTPUT, RUN, EXIT, ENVIRONMENT))
SEPARATOR = "\x1f"
"""Between the parts of a nested name, none of which has it."""
_KEY, _NESTED, _VALUE = 1, 2, 16
_VALUE_TAG = b"\x82\x01"
MOST_NAMES = 100_000

_decode = msgspec.json.Decoder().decode


def kind_of(record: bytes) -> tuple[int, bytes]:
    """What kind of record it is, 0 for one that a run does not need, and its body. Raises Malformed."""
    at, end = 0, len(record)
    while at < end:
        tag, at = varint(record, at)
        if tag & 7 == 0:
            _, at = varint(record, at)
        elif tag & 7 == 2:
            size, at = varint(record, at)
            if at + size > end:
                raise Malformed("a part goes beyond the end of its record")
            if tag >> 3 in KINDS:
                return tag >> 3, record[at : at + size]
            at += size
        else:
            raise Malformed(f"a field of kind {tag & 7}")
    return 0, b""


class Items:
    """Reads the items of histories and summaries: names that come again and again are looked up."""

    def __init__(self) -> None:
        self._names: dict[bytes, str] = {}

    def read(self, body: bytes) -> Iterator[tuple[int, str, bytes]]:
        """The number of each field, the name of an item and its JSON; a nested name has SEPARATOR between its parts."""
        names = self._names
        at, end = 0, len(body)
        while at < end:
            tag, at = varint(body, at)
            if tag & 7 == 0:
                _, at = varint(body, at)
                continue
            if tag & 7 != 2:
                raise Malformed(f"a field of kind {tag & 7}")
            size, at = varint(body, at)
            item = body[at : at + size]
            at += size
            split = item.find(_VALUE_TAG, 2) if size > 4 else -1
            name = names.get(item[:split]) if split > 0 else None
            if name is not None and split + 3 + item[split + 2] == size and item[split + 2] < 0x80:
                yield tag >> 3, name, item[split + 3 :]
                continue
            yield tag >> 3, *self._slowly(item)
        if at != end:
            raise Malformed("an item goes beyond the end of its record")

    def _slowly(self, item: bytes) -> tuple[str, bytes]:
        parts, value = [], b""
        for number, found in fields(item):
            if number in (_KEY, _NESTED) and isinstance(found, bytes):
                parts.append(as_text(found))
            elif number == _VALUE:
                value = as_bytes(found)
        name = SEPARATOR.join(parts)
        split = len(item) - len(value) - 3
        if (
            0 < split < 128
            and item.find(_VALUE_TAG, 2) == split
            and len(value) < 0x80
            and len(self._names) < MOST_NAMES
        ):
            self._names[item[:split]] = name
        return name, value


def step_of(body: bytes) -> int | None:
    """The step of a history record that keeps it beside its items."""
    for number, value in fields(body):
        if number == 2:
            return next((signed(inner) for each, inner in fields(as_bytes(value)) if each == 1), 0)
    return None


def decode_values(values: list[bytes]) -> list[Any]:
    """What their JSON means; Python's words NaN and Infinity are numbers. What is no JSON is text."""
    try:
        found = _decode(b"[" + b",".join(values) + b"]")
        if len(found) == len(values):
            return list(found)
    except (msgspec.DecodeError, RecursionError):
        pass
    return [decode_value(each) for each in values]


def decode_value(value: bytes) -> Any:  # noqa: ANN401  any JSON
    """One of them."""
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value.decode("utf-8", "replace")


def nested(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A tree of what has nested names."""
    tree: dict[str, Any] = {}
    for name, value in pairs:
        *above, last = name.split(SEPARATOR)
        place = tree
        for part in above[:32]:
            inner = place.get(part)
            if not isinstance(inner, dict):
                inner = place[part] = {}
            place = inner
        place[last] = value
    return tree


def nested_dots(values: dict[str, Any]) -> dict[str, Any]:
    """A tree of what has dots in its names."""
    return nested([(name.replace(".", SEPARATOR), value) for name, value in values.items()])


def time_ns(message: bytes) -> int:
    """A protobuf Timestamp."""
    found = dict(fields(message))
    return signed(found.get(1, 0)) * 10**9 + as_int(found.get(2, 0))
