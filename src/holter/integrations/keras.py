"""Keras 3, on any backend.

from holter.integrations.keras import HolterCallback, HolterCheckpoint
model.fit(x, y, callbacks=[HolterCallback(), HolterCheckpoint("model-{epoch}.keras")])
"""

import functools
from typing import Any

import keras

from holter.client.framework_run import Run, add_config, join_run, name_checkpoint, unraised

REQUIRES = "keras>=3.0"


class HolterCallback(keras.callbacks.Callback):
    """Records `batch/…` for each `every`-th batch and `epoch/…` for each epoch, at the number of batches trained.

    Args:
        gradients: their norms by variable, each so many batches; on torch alone, for other backends compile a step.
    """

    epoch_key = "epoch"
    """What the number of an epoch is called in its row."""

    def __init__(self, every: int = 1, *, gradients: int = 0, **asked: Any) -> None:
        super().__init__()
        self._every = every
        self._gradients = int(gradients)
        self._norms: dict[str, Any] = {}
        self._asked = asked
        self._run: Run | None = None
        self._batches = 0

    def on_train_begin(self, logs: Any = None) -> None:
        """The run begins, unless there is one."""
        self._run = join_run(**self._asked)
        self._describe()
        if self._gradients:
            self._watch()

    def on_train_end(self, logs: Any = None) -> None:
        """The optimizer is let go of."""
        vars(self.model.optimizer).pop("apply", None)

    @unraised
    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        """A row for a batch."""
        self._batches += 1
        if self._run is not None and self._every and self._batches % self._every == 0:
            row = {f"batch/{name}": value for name, value in (logs or {}).items()}
            if self._norms:
                row |= self._norms
                self._norms = {}
            self._run.log(row, self._batches)
        elif self._run is not None and self._norms:
            self._run.log(self._norms, step=self._batches)
            self._norms = {}

    @unraised
    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        """A row for an epoch."""
        if self._run is None:
            return
        row = {f"epoch/{name}": value for name, value in (logs or {}).items()}
        rate = getattr(getattr(self.model, "optimizer", None), "learning_rate", None)
        if rate is not None:
            row["epoch/learning_rate"] = float(rate)
        self._run.log({**row, self.epoch_key: epoch}, step=self._batches)

    @unraised
    def on_test_end(self, logs: Any = None) -> None:
        """What `evaluate()` found, outside of a training."""
        if self._run is None:
            self._run = join_run(**self._asked)
        if self._run is not None and logs:
            self._run.summary.update({f"test/{name}": value for name, value in logs.items()})

    @unraised
    def _watch(self) -> None:
        if self._run is None:
            return
        if (backend := keras.backend.backend()) != "torch":
            self._run.remark(f"gradients: Keras compiles a step on {backend}, so they are recorded on torch alone")
            return
        optimizer = self.model.optimizer
        plain = optimizer.apply

        def apply(grads: Any, trainable_variables: Any = None) -> Any:
            self._measure(grads, trainable_variables)
            return plain(grads, trainable_variables)

        vars(optimizer)["apply"] = apply

    @unraised
    def _measure(self, grads: Any, variables: Any) -> None:
        if (self._batches + 1) % self._gradients == 0:
            pairs = zip(grads, variables or (), strict=False)
            self._norms = {f"gradients/{each.path}": grad.norm() for grad, each in pairs if grad is not None}

    @unraised
    def _describe(self) -> None:
        if self._run is None:
            return
        optimizer = getattr(self.model, "optimizer", None)
        found = {"fit": dict(self.params or {}), "backend": keras.backend.backend()}
        if self.model.built:
            found["model/num_parameters"] = self.model.count_params()
        if optimizer is not None:
            found["optimizer"] = optimizer.get_config()
        add_config(self._run, found)


class HolterCheckpoint(keras.callbacks.ModelCheckpoint):
    """Keras' own, whose files the run names."""

    def _save_model(self, epoch: int, batch: int | None, logs: Any) -> None:
        super()._save_model(epoch=epoch, batch=batch, logs=logs)
        self._name(epoch, batch, logs)

    @unraised
    def _name(self, epoch: int, batch: int | None, logs: Any) -> None:
        import os

        path = self._get_file_path(epoch, batch, logs)
        run = join_run()
        if run is not None and os.path.exists(path):
            name_checkpoint(run, path, step=int(self.model.optimizer.iterations))


def autolog() -> None:
    """Have every `fit()` record itself. Idempotent."""
    plain = keras.Model.fit
    if hasattr(plain, "holter_fit"):
        return

    @functools.wraps(plain)
    def fit(self: Any, *args: Any, **kwargs: Any) -> Any:
        callbacks = kwargs.get("callbacks")
        if len(args) < 6 and not isinstance(callbacks, keras.callbacks.CallbackList):
            given = list(callbacks) if isinstance(callbacks, list | tuple) else [callbacks] if callbacks else []
            if not any(isinstance(each, HolterCallback) for each in given):
                kwargs["callbacks"] = [*given, HolterCallback()]
        return plain(self, *args, **kwargs)

    fit.holter_fit = True  # type: ignore[attr-defined]  # a mark of ours
    keras.Model.fit = fit
