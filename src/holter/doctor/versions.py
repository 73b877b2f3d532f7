"""Versions and what a table asks of them: `torch<2.3`, `nvidia-driver>=525.60.13,<580`, `accelerate`."""

import itertools
import re
from collections.abc import Mapping

Version = tuple[int, ...]
_PART = re.compile(r"(<=|>=|==|<|>)\s*([0-9][0-9.]*)")
_NAME = re.compile(r"\s*([A-Za-z0-9][A-Za-z0-9._-]*)\s*(.*)")


def parse(text: str) -> Version:
    """The numbers that a version begins with: `2.3.0a1+cu121` is 2.3.0; empty where it begins with none."""
    numbers = re.match(r"\d+(\.\d+)*", text.strip().lstrip("vV"))
    return tuple(map(int, numbers[0].split("."))) if numbers else ()


def compare(one: Version, other: Version) -> int:
    """-1, 0 or 1; parts that are missing are 0."""
    for left, right in itertools.zip_longest(one, other, fillvalue=0):
        if left != right:
            return -1 if left < right else 1
    return 0


def holds(condition: str, versions: Mapping[str, str]) -> bool:
    """Whether the thing that the condition names is there, in a version that it means."""
    name, rest = named(condition)
    version = parse(versions.get(name, ""))
    if not version:
        return False
    return all(_holds(operator, compare(version, parse(wanted))) for operator, wanted in _PART.findall(rest))


def named(condition: str) -> tuple[str, str]:
    """The name, and what is asked of its version."""
    match = _NAME.match(condition)
    return (match[1].lower(), match[2]) if match else ("", "")


def _holds(operator: str, order: int) -> bool:
    match operator:
        case "<":
            return order < 0
        case "<=":
            return order <= 0
        case ">":
            return order > 0
        case ">=":
            return order >= 0
        case _:
            return order == 0
