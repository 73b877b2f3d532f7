"""Answers `import wandb`, its submodules, and who asks whether a distribution of that name is installed."""

import importlib.machinery
import sys
import types
from collections.abc import Iterable, Sequence
from importlib.abc import Loader, MetaPathFinder
from typing import TYPE_CHECKING, Any

from holter.wandb_door.lookup import door_module, is_module
from holter.wandb_door.names import ALIASES, VERSION

if TYPE_CHECKING:
    from importlib.metadata import Distribution, DistributionFinder

_real: dict[str, types.ModuleType] = {}
"""A real wandb that was imported before."""


class Finder(MetaPathFinder, Loader):
    """Comes before all others, and knows one name."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Where a module of W&B's comes from."""
        if not (name == "wandb" or name.startswith("wandb.")) or not is_module(name):
            return None
        return importlib.machinery.ModuleSpec(name, self, origin="holter", is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        """The one that answers."""
        module: types.ModuleType = door_module(ALIASES.get(spec.name, spec.name))
        return module

    def exec_module(self, module: types.ModuleType) -> None:
        """There is nothing to run."""

    def find_distributions(self, context: "DistributionFinder.Context | None" = None) -> "Iterable[Distribution]":
        """What `importlib.metadata.version("wandb")` asks."""
        if context is None or context.name is None or context.name.lower() != "wandb":
            return ()
        return (_distribution(),)


finder = Finder()


def on() -> None:
    """From here on `import wandb` means holter. What was imported before keeps what it has. Idempotent."""
    if finder in sys.meta_path:
        return
    for name in [name for name in sys.modules if name == "wandb" or name.startswith("wandb.")]:
        _real[name] = sys.modules.pop(name)
    sys.meta_path.insert(0, finder)
    if _real:
        from holter.wandb_door.saying import say

        say("late", "wandb was imported before holter.as_wandb: what holds it already goes on with the real one")


def off() -> None:
    """`import wandb` means the real one again, or none where there is none. Idempotent."""
    if finder not in sys.meta_path:
        return
    sys.meta_path.remove(finder)
    for name in [name for name in sys.modules if name == "wandb" or name.startswith("wandb.")]:
        del sys.modules[name]
    sys.modules.update(_real)
    _real.clear()


def _distribution() -> "Distribution":
    from importlib.metadata import Distribution  # only who asks pays for it

    class OfDoor(Distribution):
        def read_text(self, filename: str) -> str | None:
            return f"Metadata-Version: 2.1\nName: wandb\nVersion: {VERSION}\n" if filename == "METADATA" else None

        def locate_file(self, path: Any) -> Any:
            return path

    return OfDoor()
