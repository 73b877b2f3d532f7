"""Hugging Face's Trainer, and what builds on it (TRL, sentence-transformers, axolotl).

import holter
args = TrainingArguments(..., report_to="holter")
"""

import sys
from typing import Any

from transformers import TrainerCallback
from transformers.integrations import integration_utils

from holter.client.framework_run import Run, add_config, join_run, name_checkpoint, unraised

REQUIRES = "transformers>=4.40"

# Facts of the whole training: no curve is made of one point.
_FACTS = ("train_runtime", "train_samples_per_second", "train_steps_per_second", "train_loss", "total_flos")


class HolterCallback(TrainerCallback):
    """Records what a Trainer logs, at its global step; the first process has the metrics, the others are witnesses."""

    def __init__(self) -> None:
        self._run: Run | None = None
        self._keys: dict[str, str] = {}
        """What each name of the Trainer's is called in a row; empty for a fact of the whole training."""

    def on_train_begin(self, args: Any, state: Any, control: Any, /, *, model: Any = None, **_: Any) -> None:
        """The run begins, unless there is one."""
        run = join_run(project=_project(args), name=_name(args))
        if state.is_world_process_zero and run is not None:
            self._run = run
            self._describe(args, model)

    @unraised
    def on_log(self, args: Any, state: Any, control: Any, /, *, logs: Any = None, **_: Any) -> None:
        """A row: `eval_loss` is `eval/loss`, `loss` is `train/loss`, as all of the Trainer's trackers name them."""
        if self._run is None or not logs:
            return
        keys = self._keys
        row, facts = {}, {}
        for name, value in logs.items():
            key = keys.get(name)
            if key is None:
                key = keys[name] = "" if name in _FACTS else next(iter(integration_utils.rewrite_logs({name: value})))
            if key:
                row[key] = value
            else:
                facts[name] = value
        if row:
            self._run.log(row, state.global_step)
        if facts:
            self._run.summary.update(facts)

    @unraised
    def on_save(self, args: Any, state: Any, control: Any, /, **_: Any) -> None:
        """A checkpoint is there."""
        if self._run is not None:
            path = f"{args.output_dir}/checkpoint-{state.global_step}"
            name_checkpoint(self._run, path, step=state.global_step)

    @unraised
    def on_predict(self, args: Any, state: Any, control: Any, metrics: Any, /, **_: Any) -> None:
        """What a prediction measured belongs to the whole run."""
        if self._run is not None:
            self._run.summary.update(integration_utils.rewrite_logs(metrics))

    @unraised
    def _describe(self, args: Any, model: Any) -> None:
        assert self._run is not None
        config = getattr(model, "config", None)
        settings: dict[str, Any] = config.to_dict() if config is not None and hasattr(config, "to_dict") else {}
        adapters = {name: each.to_dict() for name, each in (getattr(model, "peft_config", None) or {}).items()}
        add_config(self._run, {**settings, **args.to_dict(), **({"peft_config": adapters} if adapters else {})})
        if hasattr(model, "num_parameters"):
            self._run.config["model/num_parameters"] = model.num_parameters()


def _name(args: Any) -> str | None:
    """What the user calls the run; older releases fill in the output directory."""
    return args.run_name if args.run_name and args.run_name != args.output_dir else None


def _project(args: Any) -> str | None:
    project = getattr(args, "project", None)
    return project if project != "huggingface" else None  # the Trainer's default, and nobody's choice


def register() -> None:
    """Make `report_to="holter"` known. Idempotent."""
    integration_utils.INTEGRATION_TO_CALLBACK["holter"] = HolterCallback


def autolog() -> None:
    """Have every Trainer record itself. Idempotent."""
    defaults = sys.modules["transformers.trainer"].DEFAULT_CALLBACKS
    if HolterCallback not in defaults:
        defaults.append(HolterCallback)
