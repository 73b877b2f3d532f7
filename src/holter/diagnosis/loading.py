"""Finds the rules: every file in `diagnosis/rules`, and what others offer as entry points of the group `holter.rules`.

A rule is a module. Its file name is its cause (`disk_full.py` is `disk-full`); its docstring is the cause, a blank line
and the remedy. It has `diagnose(evidence) -> Answer` and `ADVICE`, its remedies, and may have

- `hides_behind(verdict, evidence) -> Grade | None`: what it looks like from outside, see `grades`;
- `GENERALITY`: how little it says, 0 for most. What says more explains what says less;
- `EXCLUDES`: causes that it does not explain, though they say less: only one of both can be true;
- `CURVES`: the curves that show it, the best first: panels of the page, `disk`, `metric` or `loss`;
- `CONTRIBUTES = True`: it never is the primary cause (`memory-leak`);
- `OF_THE_LIVING = True`: it is also asked about a run that is still alive (`stalled`).

Its examples are in `tests/causes`, under the same name.
"""

import functools
import importlib
import os
import sys
import warnings
from collections.abc import Callable
from types import ModuleType

import msgspec

from holter.diagnosis import rules, words
from holter.diagnosis.advice import Remedy, advise
from holter.errors import UsageError
from holter.lean import modules_in
from holter.model.evidence import Evidence
from holter.model.verdicts import Answer, Grade, Verdict

GROUP = "holter.rules"
MOST_FACTS = 5


class Rule(msgspec.Struct, frozen=True, kw_only=True):
    """One cause, how to recognise it, and what it means."""

    cause: str
    diagnose: Callable[[Evidence], Answer]
    explanation: str
    """Why a run dies like this; paragraphs are separated by blank lines."""
    remedy: str
    advice: tuple[Remedy, ...] = ()
    hides_behind: Callable[[Verdict, Evidence], Grade | None] | None = None
    generality: int = 0
    excludes: tuple[str, ...] = ()
    curves: tuple[str, ...] = ()
    contributes: bool = False
    is_of_the_living: bool = False
    module: str = ""

    @property
    def in_short(self) -> str:
        """The first sentence of the explanation, without its full stop."""
        first = " ".join(self.explanation.split("\n\n")[0].split())
        return first.split(". ")[0].rstrip(".")

    def ask(self, evidence: Evidence) -> Answer:
        """What it makes of the evidence, with all that it declares about itself."""
        answer = self.diagnose(evidence)
        if answer is None:
            return None
        if not isinstance(answer, Verdict):
            return msgspec.structs.replace(answer, cause=self.cause)
        return msgspec.structs.replace(
            answer,
            cause=self.cause,
            grade=Grade(answer.grade),
            title=words.sentence(answer.title),
            because=answer.facts[:MOST_FACTS],
            advice=advise(evidence, self.advice, first=answer.advice),
            generality=self.generality,
            excludes=self.excludes,
            curves=self.curves,
        )


@functools.cache
def load_rules() -> tuple[Rule, ...]:
    """All rules by their causes. A rule of somebody else that can't be loaded is left out with a warning."""
    own = [read_rule(name, _import(name)) for name in modules_in(rules)]
    taken = {rule.cause for rule in own}
    foreign = [rule for rule in _load_foreign() if rule.cause not in taken]
    return tuple(sorted([*own, *foreign], key=lambda rule: rule.cause))


def find_rule(cause: str) -> Rule:
    """The rule of a cause, however its id is written. Raises UsageError with the causes of about that name."""
    known = {rule.cause: rule for rule in load_rules()}
    if (found := known.get(cause.strip().replace("_", "-").replace(" ", "-").lower())) is not None:
        return found
    import difflib  # only for those who mistyped

    close = " or ".join(map(repr, difflib.get_close_matches(cause.lower(), known, n=2)))
    guess = f" (did you mean {close}?)" if close else ""
    raise UsageError(f"holter knows no cause {cause!r}{guess}; `holter rules` lists all that it knows")


def read_rule(name: str, module: ModuleType) -> Rule:
    """The rule in a module of this name."""
    paragraphs = (module.__doc__ or "").strip().split("\n\n")
    return Rule(
        cause=name.replace("_", "-"),
        diagnose=module.diagnose,
        explanation="\n\n".join(paragraphs[:-1]),
        remedy=paragraphs[-1] if len(paragraphs) > 1 else "",
        advice=getattr(module, "ADVICE", ()),
        hides_behind=getattr(module, "hides_behind", None),
        generality=getattr(module, "GENERALITY", 0),
        excludes=getattr(module, "EXCLUDES", ()),
        curves=getattr(module, "CURVES", ()),
        contributes=getattr(module, "CONTRIBUTES", False),
        is_of_the_living=getattr(module, "OF_THE_LIVING", False),
        module=module.__name__,
    )


def _import(name: str) -> ModuleType:
    return importlib.import_module(f"{rules.__name__}.{name}")


def _load_foreign() -> list[Rule]:
    if not any(map(_offers, sys.path)):
        return []
    import importlib.metadata  # a fifth of what a verdict takes, for the few who have rules of their own

    found = []
    for point in importlib.metadata.entry_points(group=GROUP):
        try:
            found.append(read_rule(point.name, point.load()))
        except Exception as error:  # noqa: BLE001 - somebody else's module may fail in any way, and ours must still speak
            warnings.warn(f"the rule {point.name!r} of {point.value} could not be loaded: {error}", stacklevel=2)
    return found


def _offers(place: str) -> bool:
    """Whether a package in a folder of `sys.path` may have a rule; an archive may have anything."""
    try:
        packages = [name for name in os.listdir(place or ".") if name.endswith((".dist-info", ".egg-info"))]
    except OSError:
        return os.path.isfile(place)
    return any(GROUP.encode() in _read(os.path.join(place, name, "entry_points.txt")) for name in packages)


def _read(path: str) -> bytes:
    try:
        with open(path, "rb", buffering=0) as file:
            return file.read()
    except OSError:
        return b""
