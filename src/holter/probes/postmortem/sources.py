"""Finds the sources: every file in `probes/postmortem` that can be asked about a death.

A source is a module that reads one interface of the machine, and has one or more of

- `at_death(scene)`: asked by the sidecar when a process has just died; it tells by `scene.say`;
- `later(past) -> Looked | None`: asked when whoever watched is gone, or may know more by now; None where it has given a
  final answer before, or can't be asked any more;
- `at_start(scene)`: asked when a run begins, where something has to be known before the end.

`TURN` says when it is asked: who may soon be gone before who can wait, who blocks last. `ASKS_OF_GOOD_ENDS = True` is
for those whom a death concerns that looks like a good end. The name under which its answers are kept, and their form,
are in `SOURCES` of `model/evidence.py`; how several answers become one, each form says itself (`Finding.together`).
"""

import functools
import importlib
from collections.abc import Callable

import msgspec

from holter.lean import modules_in
from holter.model.records import Looked
from holter.probes import postmortem
from holter.probes.postmortem.past import Past
from holter.probes.postmortem.scene import Scene


class Source(msgspec.Struct, frozen=True, kw_only=True):
    """Whom to ask, and when."""

    name: str
    turn: int
    at_death: Callable[[Scene], None] | None
    later: Callable[[Past], Looked | None] | None
    at_start: Callable[[Scene], None] | None
    asks_of_good_ends: bool


@functools.cache
def load_sources() -> tuple[Source, ...]:
    """All of them, by their turns. Imports some ten files: only for who has somebody to ask about."""
    modules = [importlib.import_module(f"{postmortem.__name__}.{name}") for name in modules_in(postmortem)]
    found = [
        Source(
            name=module.__name__.rpartition(".")[2],
            turn=module.TURN,
            at_death=getattr(module, "at_death", None),
            later=getattr(module, "later", None),
            at_start=getattr(module, "at_start", None),
            asks_of_good_ends=getattr(module, "ASKS_OF_GOOD_ENDS", False),
        )
        for module in modules
        if hasattr(module, "TURN")
    ]
    return tuple(sorted(found, key=lambda source: source.turn))
