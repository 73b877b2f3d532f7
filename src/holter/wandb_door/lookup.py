"""Finds what a name of W&B's means here: holter's own, the door's, an inert stand-in, or nothing at all."""

import importlib
import sys
import types
from typing import Any

from holter.wandb_door.names import ALIASES, CONSTANTS, HOMES, MODULES, names_of, names_of_release

_PLOTS = names_of("wandb.plot")
_OF_API = {
    "Run": "holter.wandb_door.api",
    "File": "holter.wandb_door.api_words",
    "Project": "holter.wandb_door.api_words",
}
"""What is another class there than the one that records."""
_made: dict[str, Any] = {}


def find(module: str, name: str) -> Any:
    """The value of a name in a module of W&B's. Raises AttributeError where W&B never had it."""
    full = f"{module}.{name}"
    if full in CONSTANTS:
        return CONSTANTS[full]
    if name not in names_of(module):
        return _of_release(module, name)
    return _meant(module, name)


def _of_release(module: str, name: str) -> Any:
    """A name that hardly anybody asks for: what is known means what it means elsewhere, other functions do nothing."""
    full = f"{module}.{name}"
    if name not in names_of_release().get(module, ()) and not is_module(full):
        raise AttributeError(f"module {module!r} has no attribute {name!r}")
    is_known = name[0].isupper() or name in HOMES or is_module(full)
    return _meant(module, name) if is_known else _inert(full)


def _meant(module: str, name: str) -> Any:
    full = f"{module}.{name}"
    if name in _OF_API and module.startswith("wandb.apis.public"):
        return getattr(importlib.import_module(_OF_API[name]), name)
    if name in HOMES:
        return getattr(importlib.import_module(HOMES[name]), name)
    if is_module(full):
        return door_module(full)
    import holter

    if name in holter.__all__:
        return getattr(holter, name)
    if (plots := getattr(holter, "plot", None)) is not None and name in _PLOTS and hasattr(plots, name):
        return getattr(plots, name)
    if (found := _integration(module, name)) is not None:
        return found
    if name.endswith(("Error", "Exception")):
        # Programs catch it, and what is caught has to be an exception.
        return getattr(importlib.import_module("holter.wandb_door.foreign_errors"), name)
    return _inert(full)


def _inert(full: str) -> Any:
    if full not in _made:
        from holter.wandb_door.inert import Inert

        _made[full] = Inert(full)
    return _made[full]


def is_module(name: str) -> bool:
    """Whether W&B has or had a module of that name."""
    name = ALIASES.get(name, name)
    return name in MODULES or name in names_of_release()


def door_module(name: str) -> Any:
    """The module that stands for one of W&B's, whether the finder is on or not."""
    name = ALIASES.get(name, name)
    if name not in _made:
        _made[name] = DoorModule(name)
    return _made[name]


def _integration(module: str, name: str) -> Any:
    """What a framework's callback of W&B's is here; None without that framework."""
    from holter.wandb_door.frameworks import find_callback

    try:
        return find_callback(module, name)
    except ImportError:
        return None


class DoorModule(types.ModuleType):
    """One of W&B's modules. What changes, such as `wandb.run`, is looked up each time."""

    def __init__(self, name: str) -> None:
        super().__init__(name, "W&B's names, answered by holter.")
        self.__path__: list[str] = []

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name != "__version__":
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        if name == "run" and self.__name__ == "wandb":
            return sys.modules["holter.client.active"].current() if "holter.client.active" in sys.modules else None
        value = self.__dict__[name] = find(self.__name__, name)
        return value

    def __setattr__(self, name: str, value: Any) -> None:
        if name in ("config", "summary") and self.__name__ == "wandb" and not isinstance(value, types.ModuleType):
            # People write `wandb.config = {...}`: W&B loses it, and who writes it means to set it.
            from holter.client import active

            if active.current() is not None:
                getattr(active, name).update(value)
                return
        super().__setattr__(name, value)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *names_of(self.__name__), *names_of_release().get(self.__name__, ())})
