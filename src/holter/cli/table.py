"""Lays texts out in columns that fit the reader's width."""

from collections.abc import Sequence

import msgspec

from holter.cli.stdout import Look

GAP = 2


class Column(msgspec.Struct, frozen=True):
    """A heading. A column with a `least` width may be cut down to it where the line gets too long; 0 may vanish."""

    title: str
    is_right: bool = False
    least: int | None = None


class Cell(msgspec.Struct, frozen=True):
    """A text with its colour."""

    text: str
    colour: str = ""


def render(columns: Sequence[Column], rows: Sequence[Sequence[Cell]], *, look: Look) -> list[str]:
    """The lines of the table, heading first, none longer than the reader's width if that can be had."""
    natural = [
        max([columns_width(column.title), *(columns_width(row[place].text) for row in rows)])
        for place, column in enumerate(columns)
    ]
    widths = fit(natural, [column.least for column in columns], width=look.width)
    heading = [Cell(column.title, "dim") for column in columns]
    return [_line(columns, each, widths=widths, look=look) for each in [heading, *rows]]


def fit(natural: Sequence[int], least: Sequence[int | None], *, width: int) -> list[int]:
    """Cut columns until they fit, the last one first."""
    widths = list(natural)
    for place in reversed(range(len(widths))):
        excess = sum(widths) + GAP * (sum(map(bool, widths)) - 1) - width
        if excess <= 0:
            break
        lowest = least[place]
        if lowest is not None:
            widths[place] = max(min(lowest, widths[place]), widths[place] - excess)
    return widths


def columns_width(text: str) -> int:
    """How many columns of a terminal a text takes: Chinese, Japanese and Korean characters take two."""
    if text.isascii():
        return len(text)
    import unicodedata  # only for names that need it

    return sum(
        0 if unicodedata.combining(each) else 2 if unicodedata.east_asian_width(each) in "WF" else 1 for each in text
    )


def cut(text: str, width: int, *, ellipsis: str) -> str:
    """The text, shortened to a width."""
    if columns_width(text) <= width:
        return text
    kept = text[: max(0, width - 1)]
    while kept and columns_width(kept) > width - 1:
        kept = kept[:-1]
    return kept + ellipsis if width else ""


def _line(columns: Sequence[Column], cells: Sequence[Cell], *, widths: Sequence[int], look: Look) -> str:
    parts = []
    for column, cell, width in zip(columns, cells, widths, strict=True):
        if not width:
            continue
        text = cut(cell.text, width, ellipsis=look.ellipsis)
        padding = " " * (width - columns_width(text))
        painted = look.paint(text, cell.colour)
        parts.append(padding + painted if column.is_right else painted + padding)
    return (" " * GAP).join(parts).rstrip()
