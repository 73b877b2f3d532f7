"""Hydra: each job is a run, with the composed configuration. In the configuration:

hydra:
  callbacks:
    holter:
      _target_: holter.integrations.hydra.HolterCallback
      project: cats
"""

from typing import Any

from hydra.core.utils import JobStatus
from hydra.experimental.callback import Callback
from omegaconf import OmegaConf

import holter
from holter.client.framework_run import Run, add_config, run_here, unraised

REQUIRES = "hydra-core>=1.2"


class HolterCallback(Callback):
    """Opens a run before a job's function is called and ends it as the job ended; `holter.init()` in it is that run."""

    def __init__(self, **asked: Any) -> None:
        self._asked = asked
        self._opened: Run | None = None

    def on_job_start(self, config: Any, **_: Any) -> None:
        """A job begins; in a multirun its name is what it overrides, and the jobs are a group."""
        before = holter.run
        job = OmegaConf.select(config, "hydra.job")
        named = {}
        if OmegaConf.select(config, "hydra.mode") is not None and "MULTIRUN" in str(config.hydra.mode):
            named = {"name": job.override_dirname or job.name, "group": config.hydra.sweep.dir}
        run = run_here(**{**named, **self._asked})
        self._opened = run if before is None else None
        self._describe(run, config)

    @unraised
    def on_job_end(self, config: Any, job_return: Any, **_: Any) -> None:
        """A job is through: the exception that ended it is the run's."""
        if self._opened is None:
            return
        is_failed = job_return.status == JobStatus.FAILED
        if is_failed and isinstance(job_return._return_value, BaseException):
            error = job_return._return_value
            self._opened.__exit__(type(error), error, error.__traceback__)
        else:
            self._opened.finish(exit_code=int(is_failed))
        self._opened = None

    @unraised
    def _describe(self, run: Run, config: Any) -> None:
        own = OmegaConf.masked_copy(config, [name for name in config if name != "hydra"])
        values = OmegaConf.to_container(own, resolve=True, throw_on_missing=False)
        if isinstance(values, dict):
            add_config(run, values)
