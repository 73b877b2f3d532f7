"""Holter, the flight recorder for model training: `import holter` and call `holter.init()`.

The names below load what they need when they are first used: the sidecar and the commands are modules of this package
too, and have no use for what lives in the training process.
"""

import importlib
import importlib.util
import os
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from holter.agents.entry import agent, sweep
    from holter.api.recorded_runs import Api
    from holter.artifacts.artifact import Artifact
    from holter.client.active import (
        alert,
        config,
        define_metric,
        finish,
        flush,
        log,
        mark_preempting,
        save,
        summary,
    )
    from holter.client.active_artifacts import (
        checkpoint,
        last_checkpoint,
        link_model,
        log_artifact,
        log_model,
        resume,
        use_artifact,
        use_model,
    )
    from holter.client.active_tools import unwatch, watch
    from holter.client.batch_size import fit_batch_size
    from holter.client.fitting import fits, release, retry_smaller
    from holter.client.media import plot
    from holter.client.media.audio import Audio
    from holter.client.media.figures import Plotly
    from holter.client.media.histogram import Histogram
    from holter.client.media.image import Image
    from holter.client.media.object3d import Object3D
    from holter.client.media.table import Table
    from holter.client.media.texts import Html, Markdown, Text
    from holter.client.media.video import Video
    from holter.client.opening import init
    from holter.client.pressure import on_pressure
    from holter.client.run import Run
    from holter.client.trial import TrialPruned
    from holter.errors import HolterError, MemoryPressure, NoRun, UsageError
    from holter.integrations.arriving import autolog
    from holter.memory.leaking_lines import trace_memory
    from holter.memory.profiling import profile_memory
    from holter.version import __version__

    run: Run | None
    """The active run, None before `init()` and after `finish()`."""

__all__ = [
    "Api",
    "Artifact",
    "Audio",
    "Histogram",
    "HolterError",
    "Html",
    "Image",
    "Markdown",
    "MemoryPressure",
    "NoRun",
    "Object3D",
    "Plotly",
    "Run",
    "Table",
    "Text",
    "TrialPruned",
    "UsageError",
    "Video",
    "__version__",
    "agent",
    "alert",
    "autolog",
    "checkpoint",
    "config",
    "define_metric",
    "finish",
    "fit_batch_size",
    "fits",
    "flush",
    "init",
    "last_checkpoint",
    "link_model",
    "log",
    "log_artifact",
    "log_model",
    "mark_preempting",
    "on_pressure",
    "plot",
    "profile_memory",
    "release",
    "resume",
    "retry_smaller",
    "run",
    "save",
    "summary",
    "sweep",
    "trace_memory",
    "unwatch",
    "use_artifact",
    "use_model",
    "watch",
]

_HOMES = {
    "holter.agents.entry": "agent sweep",
    "holter.api.recorded_runs": "Api",
    "holter.artifacts.artifact": "Artifact",
    "holter.client.active_tools": "unwatch watch",
    "holter.client.batch_size": "fit_batch_size",
    "holter.client.fitting": "fits release retry_smaller",
    "holter.client.active_artifacts": "checkpoint last_checkpoint link_model log_artifact log_model resume use_artifact"
    " use_model",
    "holter.client.active": "alert config define_metric finish flush log mark_preempting save summary",
    "holter.client.extension": "load_ipython_extension unload_ipython_extension",
    "holter.memory.leaking_lines": "trace_memory",
    "holter.memory.profiling": "profile_memory",
    "holter.client.media": "plot",
    "holter.client.media.audio": "Audio",
    "holter.client.media.figures": "Plotly",
    "holter.client.media.histogram": "Histogram",
    "holter.client.media.image": "Image",
    "holter.client.media.object3d": "Object3D",
    "holter.client.media.table": "Table",
    "holter.client.media.texts": "Html Markdown Text",
    "holter.client.media.video": "Video",
    "holter.client.opening": "init",
    "holter.client.run": "Run",
    "holter.client.pressure": "on_pressure",
    "holter.client.trial": "TrialPruned",
    "holter.errors": "HolterError MemoryPressure NoRun UsageError",
    "holter.integrations.arriving": "autolog",
    "holter.version": "__version__",
}


def __getattr__(name: str) -> Any:  # noqa: ANN401  any of the names above
    if name == "run":
        return importlib.import_module("holter.client.active").current()
    for home, names in _HOMES.items():
        if name in names.split():
            importlib.import_module("holter.lean").load_msgspec()
            if home.startswith(("holter.agents", "holter.client", "holter.memory")):
                # It tells a spawned process which run its parent records.
                importlib.import_module("holter.client.opening")
            value = globals()[name] = getattr(importlib.import_module(home), name)
            return value
    return _foreign(name)


def _foreign(name: str) -> Any:  # noqa: ANN401  whatever W&B calls by that name
    """For `import holter as wandb`: the names of W&B's that are not ours."""
    if name.startswith("__"):
        raise AttributeError(f"module 'holter' has no attribute {name!r}")
    importlib.import_module("holter.lean").load_msgspec()
    if importlib.util.find_spec(f"holter.{name}") is not None:
        if name in importlib.import_module("holter.wandb_door.names").names_of("wandb"):
            return importlib.import_module(f"holter.{name}")
        raise AttributeError(f"module 'holter' has no attribute {name!r}")
    try:
        return importlib.import_module("holter.wandb_door.lookup").find("wandb", name)
    except AttributeError:
        raise AttributeError(f"module 'holter' has no attribute {name!r}") from None


def __dir__() -> list[str]:
    return __all__


importlib.import_module("holter.integrations.arriving").expect_frameworks()

_process = sys.modules.get("multiprocessing.process")
if _process is not None and _process.current_process().name != "MainProcess":
    # A worker: what happens in it belongs to its parent's run from here on, whether it uses holter or not.
    importlib.import_module("holter.client.opening")

if os.environ.get("HOLTER_AS_WANDB", "") not in ("", "0"):
    importlib.import_module("holter.as_wandb")
