"""`holter.log_artifact()`, `holter.checkpoint()` and their like: those of the active run."""

import os
from typing import Any

from holter.artifacts.artifact import Artifact
from holter.artifacts.checkpoints import Checkpoint
from holter.client.active import current, the_run
from holter.client.checkpoints import RESUME_FROM, chosen_by_variable, own_of_job


def log_artifact(artifact_or_path: Any, name: str | None = None, *options: Any, **others: Any) -> Artifact:
    """Keep files as a version of the active run; see `Run.log_artifact`."""
    return the_run("log_artifact()").log_artifact(artifact_or_path, name, *options, **others)


def use_artifact(artifact_or_name: Any, *options: Any, **others: Any) -> Artifact:
    """A version as the input of the active run; see `Run.use_artifact`."""
    return the_run("use_artifact()").use_artifact(artifact_or_name, *options, **others)


def log_model(path: Any, name: str | None = None, *options: Any, **others: Any) -> Artifact:
    """Keep a model with the active run; see `Run.log_model`."""
    return the_run("log_model()").log_model(path, name, *options, **others)


def use_model(name: str) -> str:
    """Get a model for the active run; see `Run.use_model`."""
    return the_run("use_model()").use_model(name)


def link_model(path: Any, registered_model_name: str, *options: Any, **others: Any) -> Artifact:
    """Keep a model under a second name, too; see `Run.link_model`."""
    return the_run("link_model()").link_model(path, registered_model_name, *options, **others)


def checkpoint(path_or_state: Any, step: int | None = None, **others: Any) -> str:
    """Keep a checkpoint of the active run; see `Run.checkpoint`."""
    return the_run("checkpoint()").checkpoint(path_or_state, step, **others)


def last_checkpoint() -> Checkpoint | None:
    """The newest whole checkpoint of the active run; see `Run.last_checkpoint`."""
    return the_run("last_checkpoint()").last_checkpoint()


def resume() -> Checkpoint | None:
    """Where to go on: the checkpoint of HOLTER_RESUME_FROM, else the newest whole one of the active run; None for none.

    Where torchrun or SLURM has started the job anew, what the job itself has kept since counts before the variable.
    `checkpoint.path` is where it lies, `checkpoint.step` the step after which it was made. Raises UsageError where
    HOLTER_RESUME_FROM names one that is torn or missing.
    """
    chosen, run = os.environ.get(RESUME_FROM, ""), current()
    if not chosen:
        return last_checkpoint()
    own = own_of_job(run, os.environ) if run is not None else None
    return own or chosen_by_variable(run, chosen)
