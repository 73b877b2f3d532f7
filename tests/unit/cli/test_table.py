"""Columns that fit."""

from holter.cli.stdout import Look
from holter.cli.table import Cell, Column, columns_width, cut, fit, render

COLUMNS = (Column("NAME", least=4), Column("STEPS", is_right=True), Column("VALUES", least=0))


def rows(*texts: tuple[str, ...]) -> list[list[Cell]]:
    return [[Cell(text) for text in row] for row in texts]


def test_columns_are_as_wide_as_their_widest_text() -> None:
    found = render(COLUMNS, rows(("otter", "7", "loss=1"), ("elk", "1,000", "")), look=Look())
    assert found == ["NAME   STEPS  VALUES", "otter      7  loss=1", "elk    1,000"]


def test_the_last_column_gives_way_first() -> None:
    [_, line] = render(COLUMNS, rows(("otter", "7", "loss=1 acc=2")), look=Look(width=22))
    assert line == "otter      7  loss=1 …"


def test_a_column_without_room_vanishes_before_another_is_cut() -> None:
    lines = render(COLUMNS, rows(("albatross", "7", "loss=1")), look=Look(width=12))
    assert lines == ["NAME   STEPS", "alba…      7"]


def test_columns_that_may_not_shrink_overflow_rather_than_lie() -> None:
    assert fit([10, 5], [None, None], width=8) == [10, 5]


def test_wide_characters_take_two_columns() -> None:
    assert columns_width("名前") == 4
    assert columns_width("e\u0301") == 1
    [_, line] = render(COLUMNS[:2], rows(("名前", "7")), look=Look())
    assert line == "名前      7"


def test_a_cut_text_says_so_within_its_width() -> None:
    assert cut("名前名前", 6, ellipsis="…") == "名前…"
    assert cut("otter", 5, ellipsis="…") == "otter"
    assert cut("otter", 0, ellipsis="…") == ""


def test_colours_do_not_count_as_width() -> None:
    painted = render((Column("A"), Column("B")), [[Cell("x", "red"), Cell("y")]], look=Look(has_colour=True))
    assert painted[1] == "\x1b[31mx\x1b[0m  y"
