"""Turns rows into text for other programs: JSON lines and CSV. Both keep NaN and the infinities as bare words."""

import json
import math
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

Row = dict[str, Any]
Encode = Callable[[Sequence[Row]], bytes]

_encode_lines = msgspec.json.Encoder().encode_lines
_to_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def json_lines(keys: Sequence[str]) -> Encode:
    """An encoder for rows of any keys."""
    return _json_lines


def csv(keys: Sequence[str]) -> Encode:
    """An encoder for rows of these keys; the first call begins with a line of names."""
    import csv as standard

    lines: list[str] = []
    writer = standard.writer(_Collector(lines), lineterminator="\n")
    writer.writerow(keys)

    def encode(rows: Sequence[Row]) -> bytes:
        writer.writerows([_cell(row.get(key)) for key in keys] for row in rows)
        text = "".join(lines)
        lines.clear()
        return text.encode("utf-8", "replace")

    return encode


FORMATS: dict[str, Callable[[Sequence[str]], Encode]] = {"jsonl": json_lines, "csv": csv}


class _Collector:
    """What the writer of the standard library takes for a file."""

    def __init__(self, lines: list[str]) -> None:
        self.write = lines.append


def _json_lines(rows: Sequence[Row]) -> bytes:
    lines = _encode_lines(rows)
    # msgspec writes NaN and the infinities as null; where there is none, its lines are right as they are.
    return lines if b"null" not in lines else b"".join(map(_json_line, rows))


def _json_line(row: Row) -> bytes:
    return _to_json(row).encode("utf-8", "replace") + b"\n"


def _cell(value: object) -> object:
    if type(value) is float:
        return value if math.isfinite(value) else _to_json(value)
    if value is None or type(value) in (int, str):
        return value
    return _to_json(value)
