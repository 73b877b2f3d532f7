"""Reads runs from Python, from a server or from the local directory."""


def __getattr__(name: str) -> object:
    """For `import holter as wandb`: what `wandb.api` has."""
    if name.startswith("__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    return importlib.import_module("holter.wandb_door.lookup").find("wandb.api", name)
