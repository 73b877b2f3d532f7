"""Tables of what holds memory, for terminals and for notebooks."""

import html
from collections.abc import Sequence

MOST_ROWS = 20
MOST_NAME = 40

_STYLE = "text-align:left;vertical-align:top;padding:2px 10px;border:none"


def show_bytes(size_bytes: float) -> str:
    """`1.2 GiB`, `812 MiB`, `14 KiB`."""
    size, unit = float(size_bytes), "B"
    for larger in ("KiB", "MiB", "GiB", "TiB"):
        if abs(size) < 1000:
            break
        size, unit = size / 1024, larger
    return f"{size:,.0f} {unit}" if abs(size) >= 100 or unit == "B" else f"{size:.3g} {unit}"


def text_table(head: Sequence[str], rows: Sequence[Sequence[str]], *, right: Sequence[int] = ()) -> str:
    """Columns of equal width; a cell may have several lines."""
    split = [[cell.split("\n") for cell in row] for row in [list(head), *map(list, rows)]]
    widths = [max(len(line) for row in split for line in row[column]) for column in range(len(head))]
    lines = []
    for row in split:
        for number in range(max(map(len, row))):
            cells = [cell[number] if number < len(cell) else "" for cell in row]
            shown = [
                cell.rjust(width) if column in right else cell.ljust(width)
                for column, (cell, width) in enumerate(zip(cells, widths, strict=True))
            ]
            lines.append("  ".join(shown).rstrip())
    return "\n".join(lines)


def html_table(head: Sequence[str], rows: Sequence[Sequence[str]], *, code: Sequence[int] = ()) -> str:
    """The same for a notebook, with everything escaped; `code` are the columns to be copied from."""
    cells = "".join(f'<th style="{_STYLE}">{html.escape(cell)}</th>' for cell in head)
    body = "".join(
        "<tr>" + "".join(_cell(cell, is_code=column in code) for column, cell in enumerate(row)) + "</tr>"
        for row in rows
    )
    return f'<table style="border-collapse:collapse"><thead><tr>{cells}</tr></thead><tbody>{body}</tbody></table>'


def _cell(text: str, *, is_code: bool) -> str:
    shown = html.escape(text).replace("\n", "<br>")
    if is_code and text:
        shown = f'<code style="white-space:pre">{shown}</code>'
    return f'<td style="{_STYLE}">{shown}</td>'
