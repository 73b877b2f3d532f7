"""What the standard output can show."""

import io

import pytest

from holter.cli.stdout import NO_WIDTH, Look, look_at, print_json


class Terminal(io.TextIOWrapper):
    """An output that claims to be a terminal."""

    def __init__(self) -> None:
        super().__init__(io.BytesIO(), encoding="utf-8")

    def isatty(self) -> bool:
        return True


def pipe(encoding: str) -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BytesIO(), encoding=encoding)


def test_a_terminal_has_colours_and_a_width() -> None:
    assert look_at(Terminal(), {"COLUMNS": "100"}) == Look(width=100, has_colour=True, has_unicode=True)


def test_a_terminal_that_does_not_know_its_width_gets_the_usual_one() -> None:
    assert look_at(Terminal(), {"COLUMNS": "wide"}).width == 80


@pytest.mark.parametrize("environ", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_colours_can_be_declined(environ: dict[str, str]) -> None:
    assert not look_at(Terminal(), environ).has_colour


def test_an_empty_no_color_declines_nothing() -> None:
    assert look_at(Terminal(), {"NO_COLOR": ""}).has_colour


def test_a_pipe_has_neither_colours_nor_an_end_of_line() -> None:
    assert look_at(pipe("utf-8"), {"COLUMNS": "80"}) == Look(width=NO_WIDTH, has_colour=False, has_unicode=True)


def test_an_ascii_output_gets_ascii_marks() -> None:
    seen = look_at(pipe("ascii"), {})
    states = ["running", "finished", "failed", "crashed", "preempted"]
    assert "".join(map(seen.mark, states)) + seen.ellipsis == ">+xX#~"


def test_a_closed_output_is_no_reason_to_fail() -> None:
    assert look_at(None, {}) == Look()


def test_json_has_null_for_what_json_has_no_word_for(capsys: pytest.CaptureFixture[str]) -> None:
    print_json({"loss": float("nan"), "best": float("-inf")})
    assert capsys.readouterr().out == '{\n  "loss": null,\n  "best": null\n}\n'
