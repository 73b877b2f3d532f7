"""What can be logged beside numbers: pictures, sounds, tables and the like. The training process only copies them."""

import importlib
from typing import Any


def __getattr__(name: str) -> Any:
    """Its modules, loaded when they are first used."""
    if name == "plot":
        return importlib.import_module("holter.client.media.plot")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
