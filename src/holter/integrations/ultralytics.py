"""Ultralytics' YOLO.

from holter.integrations.ultralytics import add_callbacks
add_callbacks(model, project="cats")
model.train(data="coco8.yaml", epochs=3)
"""

import functools
import sys
from typing import Any

from holter.client.framework_run import Run, add_config, join_run, name_checkpoint, unraised

REQUIRES = "ultralytics>=8.3"


class HolterCallbacks:
    """What a trainer calls; a row for each epoch, counted from 1 as its own tables do."""

    def __init__(self, **asked: Any) -> None:
        self._asked = asked
        self._run: Run | None = None

    def begin(self, trainer: Any) -> None:
        """The run begins, unless there is one."""
        named = {"project": trainer.args.project or None, "name": trainer.args.name or None}
        self._run = join_run(**{**named, **self._asked})
        if self._run is not None:
            add_config(self._run, vars(trainer.args))

    @unraised
    def end_epoch(self, trainer: Any) -> None:
        """Losses, metrics and rates of an epoch."""
        if self._run is None:
            return
        losses = trainer.label_loss_items(trainer.tloss, prefix="train")
        self._run.log({**losses, **trainer.metrics, **trainer.lr}, step=trainer.epoch + 1)

    @unraised
    def save(self, trainer: Any) -> None:
        """A checkpoint is there."""
        if self._run is not None:
            name_checkpoint(self._run, trainer.last, step=trainer.epoch + 1)

    @unraised
    def end(self, trainer: Any) -> None:
        """The training is through."""
        if self._run is not None and trainer.best.exists():
            self._run.summary["best_checkpoint"] = str(trainer.best)

    def as_dict(self) -> dict[str, Any]:
        """By the names of their events."""
        return {
            "on_pretrain_routine_end": self.begin,
            "on_fit_epoch_end": self.end_epoch,
            "on_model_save": self.save,
            "on_train_end": self.end,
        }


def add_callbacks(model: Any, **asked: Any) -> None:
    """Have a model record its trainings; takes what `holter.init()` takes."""
    for event, callback in HolterCallbacks(**asked).as_dict().items():
        model.add_callback(event, callback)


def autolog() -> None:
    """Have every trainer record itself. Idempotent."""
    base = sys.modules["ultralytics.utils.callbacks.base"]
    plain = base.add_integration_callbacks
    if hasattr(plain, "holter_added"):
        return

    @functools.wraps(plain)
    def add(instance: Any) -> Any:
        plain(instance)
        added = [each for several in instance.callbacks.values() for each in several]
        if "Trainer" in type(instance).__name__ and not any(
            isinstance(getattr(each, "__self__", None), HolterCallbacks) for each in added
        ):
            for event, callback in HolterCallbacks().as_dict().items():
                instance.callbacks[event].append(callback)

    add.holter_added = True  # type: ignore[attr-defined]  # a mark of ours
    for module in ("ultralytics.utils.callbacks.base", "ultralytics.utils.callbacks"):
        if module in sys.modules:
            sys.modules[module].add_integration_callbacks = add  # type: ignore[attr-defined]  # imported by name
