"""W&B's callbacks for Keras, in holter's: its arguments, and its names of metrics."""

from typing import Any

import keras

from holter.client.active import log
from holter.client.framework_run import join_run
from holter.client.media.table import Table
from holter.integrations.keras import HolterCallback, HolterCheckpoint
from holter.wandb_door.frameworks import say_unused

WandbModelCheckpoint = HolterCheckpoint


class WandbMetricsLogger(HolterCallback):
    """A row for each epoch, or for each batch, or for each so many of them."""

    epoch_key = "epoch/epoch"

    def __init__(self, log_freq: Any = "epoch", initial_global_step: int = 0, **options: Any) -> None:
        say_unused("WandbMetricsLogger", options)
        super().__init__(every={"epoch": 0, "batch": 1}.get(log_freq, log_freq))
        self._batches = initial_global_step


class WandbCallback(HolterCallback):
    """The older one: a row for each epoch, by the names that Keras has."""

    def __init__(self, monitor: str = "val_loss", **options: Any) -> None:
        often = options.get("log_batch_frequency")
        gradients = (often or 1) if options.pop("log_gradients", False) else 0
        say_unused("WandbCallback", options)
        super().__init__(every=often or 0, gradients=gradients)

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        """A row for an epoch."""
        if self._run is not None:
            self._run.log({**(logs or {}), "epoch": epoch}, step=self._batches)


class WandbEvalCallback(keras.callbacks.Callback):  # type: ignore[misc]  # the framework may be absent
    """A table of the truth before the training, and one of predictions after each epoch, both filled by a child class.

    They are media of the run, `val_data` and `eval_data`; W&B keeps them as artifacts.
    """

    def __init__(self, data_table_columns: list[str], pred_table_columns: list[str], **_: Any) -> None:
        super().__init__()
        self.data_table_columns = data_table_columns
        self.pred_table_columns = pred_table_columns

    def on_train_begin(self, logs: Any = None) -> None:
        """The truth."""
        join_run()
        self.init_data_table(self.data_table_columns)
        self.add_ground_truth(logs)
        self.log_data_table()

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        """The predictions."""
        self.init_pred_table(self.pred_table_columns)
        self.add_model_predictions(epoch, logs)
        self.log_pred_table()

    def add_ground_truth(self, logs: Any = None) -> None:
        """Fill `data_table`."""
        raise NotImplementedError(f"{type(self).__name__}.add_ground_truth")

    def add_model_predictions(self, epoch: int, logs: Any = None) -> None:
        """Fill `pred_table`."""
        raise NotImplementedError(f"{type(self).__name__}.add_model_predictions")

    def init_data_table(self, column_names: list[str]) -> None:
        """Begin the table of the truth."""
        self.data_table = Table(columns=column_names)

    def init_pred_table(self, column_names: list[str]) -> None:
        """Begin a table of predictions."""
        self.pred_table = Table(columns=column_names)

    def log_data_table(self, name: str = "val", type: str = "dataset", table_name: str = "val_data") -> None:  # noqa: A002  W&B's word
        """Keep the table of the truth."""
        log({table_name: self.data_table})
        self.data_table_ref = self.data_table

    def log_pred_table(self, type: str = "evaluation", table_name: str = "eval_data", aliases: Any = None) -> None:  # noqa: A002  as above
        """Keep the table of predictions."""
        log({table_name: self.pred_table})
