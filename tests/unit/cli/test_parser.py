"""Mistakes on the command line become one sentence."""

import pytest

from holter.cli.parser import Parser, add_json, add_run, near, whole_number
from holter.errors import UsageError


@pytest.fixture
def parser() -> Parser:
    parser = Parser("show", "Show a run.")
    add_run(parser)
    add_json(parser)
    parser.add_argument("-n", type=whole_number)
    return parser


def test_a_run_may_be_left_out(parser: Parser) -> None:
    assert parser.parse(["--json"]).run is None


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--jsn"], "`holter show` has no argument '--jsn' (did you mean '--json'?); `holter show --help` shows"),
        (["--js"], "`holter show` has no argument '--js' (did you mean '--json'?); `holter show --help` shows"),
        (["one", "two"], "`holter show` has no argument 'two'; `holter show --help` shows what it takes"),
        (["-n", "-1"], "argument -n: a whole number is needed, got '-1'; `holter show --help` shows"),
        (["-n", "many"], "argument -n: a whole number is needed, got 'many'; `holter show --help` shows"),
    ],
)
def test_a_mistake_is_a_usage_error_with_what_to_do(parser: Parser, arguments: list[str], sentence: str) -> None:
    with pytest.raises(UsageError) as caught:
        parser.parse(arguments)
    assert sentence in str(caught.value)


def test_only_what_is_near_is_guessed() -> None:
    assert near("sho", ["ls", "show"]) == " (did you mean 'show'?)"
    assert near("frobnicate", ["ls", "show"]) == ""
