"""What a program says of its metrics; and W&B's names of a run, which are looked up only when somebody asks."""

import importlib
from typing import TYPE_CHECKING, Any

from holter.client.boundary import harmless

if TYPE_CHECKING:
    from holter.client.defining import Definitions, Metric
    from holter.client.recorder import Recorder
    from holter.model.clock import Clock


class DefinedRun:
    """Definitions of metrics. `Run` says how a record is kept."""

    _recorder: "Recorder"
    _clock: "Clock"
    _definitions: "Definitions | None" = None

    @harmless
    def define_metric(
        self,
        name: str,
        step_metric: Any = None,
        step_sync: bool | None = None,
        hidden: bool | None = None,
        summary: str | None = None,
        overwrite: bool | None = None,
        *,
        goal: str | None = None,
    ) -> "Metric":
        """Say which metric is the x axis of another, and what the summary keeps of it.

        Args:
            name: of a metric, or the beginning of many with a `*`: `train/*`.
            step_metric: the metric that is its x axis, in place of the step.
            step_sync: a row without that metric gets its last value; so unless False is given.
            hidden: it gets no chart by itself.
            summary: `min`, `max`, `mean`, `last`, `first`, `best`, `none`, separated by commas.
            goal: `minimize` or `maximize`, for `best`.
            overwrite: forget what was said of it before.
        """
        from holter.client.defining import Definitions, as_definition, understood  # only those who define pay for it

        metric = understood(name, step_metric, step_sync, hidden, summary, goal)
        if self._is_over("define_metric()") or not self._recorder.directory:
            return metric
        if self._definitions is None:
            self._definitions = Definitions(self._recorder, self._clock)
        self._definitions.define(name, as_definition(metric), overwrite=bool(overwrite))
        return metric

    def go_on_defining(self) -> None:
        """What an earlier history said of its metrics holds for these rows, too."""
        from holter.client.defining import Definitions

        self._definitions = Definitions(self._recorder, self._clock)

    if not TYPE_CHECKING:  # where it would hide every slip of the pen

        def __getattr__(self, name: str) -> Any:
            # W&B's words live above the client.
            return importlib.import_module("holter.wandb_door.runs").attribute(self, name)

    def report(self, doing: str, error: Exception) -> None:
        """Count a failure and say it once."""
        raise NotImplementedError

    def _is_over(self, doing: str) -> bool:
        """Whether the run has ended; if so, it is said."""
        raise NotImplementedError
