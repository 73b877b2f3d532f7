"""W&B's callback for Stable-Baselines3, in holter's."""

import os
from typing import Any

from holter.integrations.stable_baselines3 import HolterCallback, name_model
from holter.wandb_door.frameworks import say_unused


class WandbCallback(HolterCallback):
    """Gradients each so many steps, and the model as `model.zip`, now and then and at the end; a copy is the run's."""

    def __init__(self, verbose: int = 0, model_save_path: str | None = None, **options: Any) -> None:
        self._save_every = int(options.pop("model_save_freq", 0) or 0)
        self._watch_every = int(options.pop("gradient_save_freq", 0) or 0)
        say_unused("WandbCallback", options)
        super().__init__()
        self._path = os.path.join(model_save_path, "model.zip") if model_save_path else ""

    def _init_callback(self) -> None:
        if self._path:
            os.makedirs(os.path.dirname(self._path), exist_ok=True)

    def _on_training_start(self) -> None:
        super()._on_training_start()
        if self._watch_every and self._run is not None:
            self._run.watch(self.model.policy, log="all", log_freq=self._watch_every)

    def _on_step(self) -> bool:
        if self._path and self._save_every and self.n_calls % self._save_every == 0:
            self._save()
        return super()._on_step()

    def _on_training_end(self) -> None:
        if self._path:
            self._save()

    def _save(self) -> None:
        self.model.save(self._path)
        name_model(self._path, self.num_timesteps)
        if self._run is not None:
            self._run.save(self._path, base_path=os.path.dirname(self._path))
