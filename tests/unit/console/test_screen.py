"""What a terminal would show."""

import pytest

from holter.console.screen import Screen, harmless, without_colours


def shown(*texts: str, has_colour: bool = False) -> list[str]:
    screen = Screen()
    for text in texts:
        screen.feed(text)
    return screen.lines(has_colour=has_colour)


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("", []),
        ("a\nb\n", ["a", "b"]),
        ("a\nb", ["a", "b"]),
        ("a\r\nb\r\n", ["a", "b"]),
        ("10%\r20%\r30%\n", ["30%"]),
        ("longer\rshort\n", ["shortr"]),
        ("longer\r\x1b[Kshort\n", ["short"]),
        ("abc\b\bX\n", ["aXc"]),
        ("a\tb\n", ["a       b"]),
        ("one\ntwo\n\x1b[2Afirst\n\n", ["first", "two"]),
        ("bar 1\nbar 2\x1b[A\rbar 1 done\n", ["bar 1 done", "bar 2"]),
        ("\x1b[31mred\x1b[0m plain\n", ["red plain"]),
        ("\x1b]0;title\x07text\n", ["text"]),
        ("a\x1b[3Cb\n", ["a   b"]),
        ("abc\x1b[1Gx\n", ["xbc"]),
        ("abc\x1b[1K\n", [""]),
        ("a\x00b\x07c\n", ["abc"]),
        ("\x1b[999999999Bx\n", ["", "x"]),
        ("é漢\n", ["é漢"]),
    ],
)
def test_text_is_shown_as_a_terminal_would(text: str, lines: list[str]) -> None:
    assert shown(text) == lines


@pytest.mark.parametrize("cut", range(1, 16))
def test_a_sequence_may_come_in_two_parts(cut: int) -> None:
    text = "a\x1b[31mb\x1b]0;t\x07c\n"
    assert shown(text[:cut], text[cut:]) == ["abc"]


def test_colours_are_kept_where_they_can_be_shown() -> None:
    assert shown("\x1b[31mred\x1b[0m plain \x1b[1;4mbold", has_colour=True) == [
        "\x1b[31mred\x1b[0m plain \x1b[1;4mbold\x1b[0m"
    ]


def test_a_line_can_be_read_without_its_colours() -> None:
    (line,) = shown("\x1b[1;31mred\x1b[0m and \x1b[38;5;208morange", has_colour=True)
    assert without_colours(line) == "red and orange"
    assert without_colours(line[: line.index("orange") - 3]) == "red and "


def test_what_changes_more_than_its_own_lines_does_not_reach_a_real_terminal() -> None:
    text = "\x1b[?1049h\x1b[2J\x1b]0;title\x07\x1b[31mred\x1b[0m\r\x1b[K\x1b[6n\x1bctext\x07\n"
    assert harmless(text) == "\x1b[31mred\x1b[0m\r\x1b[Ktext\n"
