"""Holter, the flight recorder for model training: `import holter` and call `holter.init()`.

The names below load what they need when they are first used: the sidecar and the commands are modules of this package
too, and have no use for what lives in the training process.
"""

import importlib
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from holter.api.recorded_runs import Api
    from holter.client.active import alert, config, finish, flush, log, mark_preempting, save, summary
    from holter.client.opening import init
    from holter.client.run import Run
    from holter.errors import HolterError, NoRun, UsageError
    from holter.memory.profiling import profile_memory
    from holter.version import __version__

    run: Run | None
    """The active run, None before `init()` and after `finish()`."""

__all__ = [
    "Api",
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
    "profile_memory",
    "run",
    "save",
    "summary",
]

_HOMES = {
    "holter.api.recorded_runs": "Api",
    "holter.client.active": "alert config finish flush log mark_preempting save summary",
    "holter.client.extension": "load_ipython_extension unload_ipython_extension",
    "holter.memory.profiling": "profile_memory",
    "holter.client.opening": "init",
    "holter.client.run": "Run",
    "holter.errors": "HolterError NoRun UsageError",
    "holter.version": "__version__",
}


def __getattr__(name: str) -> Any:  # noqa: ANN401  any of the names above
    if name == "run":
        return importlib.import_module("holter.client.active").current()
    for home, names in _HOMES.items():
        if name in names.split():
            importlib.import_module("holter.lean").load_msgspec()
            if home.startswith(("holter.client", "holter.memory")):
                # It tells a spawned process which run its parent records.
                importlib.import_module("holter.client.opening")
            value = globals()[name] = getattr(importlib.import_module(home), name)
            return value
    raise AttributeError(f"module 'holter' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__


_process = sys.modules.get("multiprocessing.process")
if _process is not None and _process.current_process().name != "MainProcess":
    # A worker: what happens in it belongs to its parent's run from here on, whether it uses holter or not.
    importlib.import_module("holter.client.opening")
