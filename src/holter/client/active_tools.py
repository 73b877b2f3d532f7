"""The module-level calls of tools around the training, which mean the active run."""

from typing import Any

from holter.client.active import the_run


def watch(models: Any, *options: Any, **others: Any) -> None:
    """Record norms, NaN, Inf and underflow of a torch model by layer; see `Run.watch`."""
    the_run("watch()").watch(models, *options, **others)


def unwatch(models: Any = None) -> None:
    """Watch these models no more; see `Run.unwatch`."""
    the_run("unwatch()").unwatch(models)
