"""The exceptions of W&B's names: programs catch them, and holter raises those that are its own."""

from holter.errors import HolterError as Error
from holter.errors import UsageError
from holter.wandb_door.names import names_of, names_of_release

__all__ = ["CommError", "Error", "UsageError"]


class CommError(Error):
    """W&B's for trouble with its server. Holter sends from another process, so it is never raised into a program."""


_made: dict[str, type[Error]] = {}


def __getattr__(name: str) -> type[Error]:
    """Any other of W&B's; nobody raises it."""
    if name not in names_of("wandb.errors.errors") and not any(name in names for names in names_of_release().values()):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _made.setdefault(name, type(name, (Error,), {"__doc__": "One of W&B's, never raised by holter."}))
