"""Lightning, as `lightning` or as `pytorch_lightning`.

    from holter.integrations.lightning import HolterLogger
    trainer = Trainer(logger=HolterLogger(project="mnist"))

With HOLTER_AUTOLOG=1, or after `holter.autolog()`, every Trainer has one by itself.
"""

import os
import sys
from argparse import Namespace
from typing import Any

if "pytorch_lightning" in sys.modules and "lightning" not in sys.modules:
    from pytorch_lightning import Callback
    from pytorch_lightning.loggers.logger import Logger, rank_zero_experiment
    from pytorch_lightning.utilities import rank_zero_only
else:
    from lightning.pytorch import Callback
    from lightning.pytorch.loggers.logger import Logger, rank_zero_experiment
    from lightning.pytorch.utilities import rank_zero_only

from holter.client.framework_run import Run, is_first_rank, join_run, name_checkpoint, run_here, unraised
from holter.integrations import arriving

REQUIRES = "lightning>=2.2"


class HolterLogger(Logger):
    """Records what a LightningModule logs, at its global step; takes what `holter.init()` takes."""

    def __init__(self, project: str | None = None, **asked: Any) -> None:
        super().__init__()
        self._asked = {**asked, **({"project": project} if project else {})}
        if not is_first_rank():
            join_run(**self._asked)  # a witness of what it prints and how it dies

    @property
    @rank_zero_experiment
    def experiment(self) -> Run:
        """The run: of the first process, and in the others something that takes any call and does nothing."""
        return run_here(**self._asked)

    @property
    def name(self) -> str:
        """Where checkpoints go is made of this."""
        return str(self._asked.get("project") or "holter")

    @property
    def version(self) -> str | None:
        """The id of the run."""
        return str(self.experiment.id) if rank_zero_only.rank == 0 else None

    @rank_zero_only
    @unraised
    def log_metrics(self, metrics: dict[str, float], step: int | None = None) -> None:
        """Record a row."""
        run_here(**self._asked).log(metrics, step)

    @rank_zero_only
    @unraised
    def log_hyperparams(self, params: Any, *_: Any, **__: Any) -> None:
        """Keep the configuration."""
        values = vars(params) if isinstance(params, Namespace) else dict(params)
        self.experiment.config.update(values)

    @rank_zero_only
    @unraised
    def after_save_checkpoint(self, checkpoint_callback: Any) -> None:
        """A checkpoint is there."""
        saved = getattr(checkpoint_callback, "_last_checkpoint_saved", "") or checkpoint_callback.best_model_path
        if saved:
            step = getattr(checkpoint_callback, "_last_global_step_saved", 0)
            name_checkpoint(self.experiment, saved, step=step)
        if checkpoint_callback.best_model_path:
            self.experiment.summary["best_checkpoint"] = os.path.abspath(checkpoint_callback.best_model_path)


class RecordedTrainer(Callback):
    """Gives a Trainer without a logger of ours one."""

    @unraised
    def setup(self, trainer: Any, pl_module: Any, /, stage: str) -> None:
        """Called before anything is logged."""
        if not any(isinstance(each, HolterLogger) for each in trainer.loggers):
            logger = HolterLogger()
            trainer.loggers = [*trainer.loggers, logger]
            logger.log_hyperparams(dict(pl_module.hparams))


def callbacks_factory() -> list[Callback]:
    """What Lightning asks of every installed package when a Trainer is made."""
    return [RecordedTrainer()] if arriving.is_asked() else []
