"""Holter, the flight recorder for model training: `import holter` and call `holter.init()`."""

from holter.client.active import alert, config, finish, flush, log, mark_preempting, summary
from holter.client.opening import init
from holter.client.run import Run
from holter.errors import HolterError, NoRun, UsageError
from holter.version import __version__

__all__ = [
    "HolterError",
    "NoRun",
    "Run",
    "UsageError",
    "__version__",
    "alert",
    "config",
    "finish",
    "flush",
    "init",
    "log",
    "mark_preempting",
    "run",
    "summary",
]


def __getattr__(name: str) -> "Run | None":
    """`holter.run` is the active run, None before `init()` and after `finish()`."""
    if name == "run":
        from holter.client.active import current

        return current()
    raise AttributeError(f"module 'holter' has no attribute {name!r}")
