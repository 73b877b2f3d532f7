"""Examples of each cause: a file of the same name for each rule, found by `tests/contract/test_every_rule.py`."""

import importlib

from tests.causes.example import Example


def examples_of(cause: str) -> list[Example]:
    """What must be told as this cause, and what looks like it and must not."""
    found: list[Example] = importlib.import_module(f"tests.causes.{cause.replace('-', '_')}").EXAMPLES
    return found
