"""fastai.

from holter.integrations.fastai import HolterCallback
learn.fit_one_cycle(3, cbs=HolterCallback())
"""

from typing import Any

from fastai.learner import Callback, Recorder, defaults

from holter.client.framework_run import Run, add_config, join_run, unraised

REQUIRES = "fastai>=2.7"

_FIT_FACTS = ("epoch", "time")


class HolterCallback(Callback):
    """Records each batch's loss and rates, and each epoch's metrics, at the number of batches trained."""

    order = Recorder.order + 1

    def __init__(self, **asked: Any) -> None:
        super().__init__()
        self._asked = asked
        self._recording: Run | None = None
        self._batches = 0

    def before_fit(self) -> None:
        """The run begins, unless there is one; a search for a learning rate is no training."""
        is_search = hasattr(self.learn, "lr_finder") or hasattr(self.learn, "gather_preds")
        self._recording = None if is_search else join_run(**self._asked)
        self._describe()

    @unraised
    def after_batch(self) -> None:
        """A row for a batch."""
        if self._recording is None or not self.learn.training:
            return
        self._batches += 1
        rates = {
            f"{name}_{group}": value for group, each in enumerate(self.learn.opt.hypers) for name, value in each.items()
        }
        row = {
            "train_loss": self.learn.smooth_loss,
            "raw_loss": self.learn.loss,
            "epoch": self.learn.pct_train * self.learn.n_epoch,
        }
        self._recording.log({**row, **rates}, step=self._batches)

    @unraised
    def after_epoch(self) -> None:
        """A row for an epoch."""
        if self._recording is not None:
            recorder = self.learn.recorder
            row = dict(zip(recorder.metric_names, recorder.log, strict=False))
            measured = {name: value for name, value in row.items() if name not in _FIT_FACTS and value is not None}
            self._recording.log({f"epoch/{name}": value for name, value in measured.items()}, step=self._batches)

    @unraised
    def _describe(self) -> None:
        if self._recording is not None:
            parts = {"model": self.learn.model, "loss_func": self.learn.loss_func, "opt_func": self.learn.opt_func}
            named = {name: getattr(part, "__name__", type(part).__name__) for name, part in parts.items()}
            numbers = {
                "n_epoch": self.learn.n_epoch,
                "lr": self.learn.lr,
                "wd": self.learn.wd,
                "batch_size": getattr(self.dls, "bs", None),
            }
            add_config(self._recording, {**named, **numbers})


def autolog() -> None:
    """Have every Learner made from now on record itself. Idempotent."""
    if HolterCallback not in defaults.callbacks:
        defaults.callbacks.append(HolterCallback)
