"""W&B's macros in a command."""

import sys

import pytest

from holter.agents.command import words_of
from holter.errors import UsageError

CONFIG = {"lr": 0.1, "fast": True, "slow": False, "net": {"width": 3}}


def words(*command: str, program: str = "train.py") -> list[str]:
    return words_of(command, CONFIG, program=program, json_file="/tmp/a.json", environ={"HOME": "/me"})


def test_the_usual_command() -> None:
    expected = ["--lr=0.1", "--fast=True", "--slow=False", '--net={"width": 3}']
    found = words("${env}", "${interpreter}", "${program}", "${args}")
    assert found == ["/usr/bin/env", sys.executable, "train.py", *expected]


def test_the_other_macros() -> None:
    assert words("${args_no_hyphens}")[:2] == ["lr=0.1", "fast=True"]
    assert words("${args_no_boolean_flags}") == ["--lr=0.1", "--fast", '--net={"width": 3}']
    assert words("${args_json}") == ['{"lr": 0.1, "fast": true, "slow": false, "net": {"width": 3}}']
    assert words("${args_json_file}", "--at=${envvar:HOME}/x") == ["/tmp/a.json", "--at=/me/x"]


def test_what_there_is_not_is_refused() -> None:
    with pytest.raises(UsageError, match=r"the command has '\$\{nothing\}'"):
        words("${nothing}")
    with pytest.raises(UsageError, match="no `program`"):
        words("${program}", program="")
