"""Finds the rules: every file in `diagnosis/rules`, and what others offer as entry points of the group `holter.rules`.

A rule is a module. Its file name is its cause (`disk_full.py` is `disk-full`); its docstring is the cause, a blank line
and the remedy. It has `diagnose(evidence) -> Answer` and `EXAMPLES`, and may have `CONTRIBUTES = True` (it never is the
primary cause: `memory-leak`) and `OF_THE_LIVING = True` (it is also asked about a run that is still alive: `stalled`).
"""

import functools
import importlib
import importlib.metadata
import inspect
import pkgutil
import warnings
from collections.abc import Callable
from types import ModuleType

import msgspec

from holter.diagnosis import rules
from holter.model.evidence import Evidence
from holter.model.verdicts import Answer, Example

GROUP = "holter.rules"


class Rule(msgspec.Struct, frozen=True, kw_only=True):
    """One cause, how to recognise it, and what it means."""

    cause: str
    diagnose: Callable[[Evidence], Answer]
    explanation: str
    """Why a run dies like this; paragraphs are separated by blank lines."""
    remedy: str
    examples: tuple[Example, ...] = ()
    contributes: bool = False
    is_of_the_living: bool = False
    module: str = ""


@functools.cache
def load_rules() -> tuple[Rule, ...]:
    """All rules by their causes. A rule of somebody else that can't be loaded is left out with a warning."""
    own = [read_rule(each.name, _import(each.name)) for each in pkgutil.iter_modules(rules.__path__)]
    taken = {rule.cause for rule in own}
    foreign = [rule for rule in _load_foreign() if rule.cause not in taken]
    return tuple(sorted([*own, *foreign], key=lambda rule: rule.cause))


def read_rule(name: str, module: ModuleType) -> Rule:
    """The rule in a module of this name."""
    paragraphs = inspect.cleandoc(module.__doc__ or "").split("\n\n")
    return Rule(
        cause=name.replace("_", "-"),
        diagnose=module.diagnose,
        explanation="\n\n".join(paragraphs[:-1]),
        remedy=paragraphs[-1] if len(paragraphs) > 1 else "",
        examples=tuple(module.EXAMPLES),
        contributes=getattr(module, "CONTRIBUTES", False),
        is_of_the_living=getattr(module, "OF_THE_LIVING", False),
        module=module.__name__,
    )


def _import(name: str) -> ModuleType:
    return importlib.import_module(f"{rules.__name__}.{name}")


def _load_foreign() -> list[Rule]:
    found = []
    for point in importlib.metadata.entry_points(group=GROUP):
        try:
            found.append(read_rule(point.name, point.load()))
        except Exception as error:  # noqa: BLE001 - somebody else's module may fail in any way, and ours must still speak
            warnings.warn(f"the rule {point.name!r} of {point.value} could not be loaded: {error}", stacklevel=2)
    return found
