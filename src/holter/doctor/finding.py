"""What a check says, and where all checks are asked."""

import importlib
from collections.abc import Iterator
from typing import Protocol

import msgspec

from holter.doctor import checks
from holter.doctor.machine import Machine
from holter.lean import modules_in


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """Something that will bite: what it is, why that kills trainings, and what puts an end to it."""

    id: str
    what: str
    why: str
    fix: str


class Check(Protocol):
    """What a file of `checks` offers."""

    def check(self, machine: Machine) -> Iterator[tuple[str, str, str]]:
        """What, why and fix of each thing that is wrong. Pure; says nothing of what nobody could look at."""


def examine_machine(machine: Machine) -> list[Finding]:
    """All that will bite, check by check."""
    return [
        Finding(id=name.replace("_", "-"), what=what, why=why, fix=fix)
        for name in modules_in(checks)
        for what, why, fix in importlib.import_module(f"{checks.__name__}.{name}").check(machine)
    ]
