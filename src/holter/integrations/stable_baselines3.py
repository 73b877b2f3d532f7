"""Stable-Baselines3.

from holter.integrations.stable_baselines3 import HolterCallback
model.learn(total_timesteps=10_000, callback=HolterCallback())
"""

import functools
from typing import Any

import numpy
import stable_baselines3.common.base_class as algorithms
from stable_baselines3.common.callbacks import BaseCallback, CallbackList, CheckpointCallback
from stable_baselines3.common.logger import KVWriter

from holter.client.framework_run import Run, add_config, join_run, name_checkpoint, unraised

REQUIRES = "stable-baselines3>=2.0"

_PLAIN = (bool, int, float, str, type(None))


class HolterWriter(KVWriter):
    """One of a logger's outputs: each `dump()` is a row at its timestep."""

    def __init__(self, run: Run) -> None:
        self._run = run

    @unraised
    def write(self, key_values: dict[str, Any], key_excluded: dict[str, tuple[str, ...]], step: int = 0, /) -> None:
        """Record a row."""
        row = {
            key: value
            for key, value in key_values.items()
            if "holter" not in (key_excluded.get(key) or ()) and isinstance(value, (*_PLAIN, numpy.number))
        }
        self._run.log(row, step=int(step))

    def close(self) -> None:
        """The run is not ours to end: another `learn()` may follow."""


class HolterCallback(BaseCallback):
    """Records what the algorithm logs, and how it was set."""

    def __init__(self, **asked: Any) -> None:
        super().__init__()
        self._asked = asked
        self._run: Run | None = None

    def _on_training_start(self) -> None:
        self._run = join_run(**self._asked)
        self._attach()

    def _on_step(self) -> bool:
        return True

    @unraised
    def _attach(self) -> None:
        if self._run is None:
            return
        outputs = self.model.logger.output_formats
        if not any(isinstance(each, HolterWriter) for each in outputs):
            outputs.append(HolterWriter(self._run))
        plain = {name: value for name, value in vars(self.model).items() if isinstance(value, _PLAIN)}
        settings = {name: value for name, value in plain.items() if not name.startswith("_")}
        add_config(self._run, {"algorithm": type(self.model).__name__, **settings})


class HolterCheckpoint(CheckpointCallback):
    """Stable-Baselines3's own, whose files the run names."""

    def _on_step(self) -> bool:
        goes_on = bool(super()._on_step())
        if self.n_calls % self.save_freq == 0:
            name_model(self._checkpoint_path(extension="zip"), self.num_timesteps)
        return goes_on


@unraised
def name_model(path: str, step: int) -> None:
    """A model was saved there."""
    if (run := join_run()) is not None:
        name_checkpoint(run, path, step=step)


def autolog() -> None:
    """Have every `learn()` record itself. Idempotent."""
    plain = algorithms.BaseAlgorithm._init_callback
    if hasattr(plain, "holter_init"):
        return

    @functools.wraps(plain)
    def init_callback(self: Any, callback: Any, *args: Any, **kwargs: Any) -> Any:
        made = plain(self, callback, *args, **kwargs)
        own = HolterCallback()
        own.init_callback(self)
        return CallbackList([made, own])

    init_callback.holter_init = True  # type: ignore[attr-defined]  # a mark of ours
    algorithms.BaseAlgorithm._init_callback = init_callback
