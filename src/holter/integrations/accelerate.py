"""Hugging Face's accelerate.

import holter
accelerator = Accelerator(log_with="holter")
accelerator.init_trackers("my-project", config=vars(args))
"""

from typing import Any

from accelerate.tracking import LOGGER_TYPE_TO_CLASS, GeneralTracker

from holter.client.framework_run import Run, is_first_rank, join_run, unraised

REQUIRES = "accelerate>=1.0"


class HolterTracker(GeneralTracker):
    """One of an Accelerator's trackers. Metrics come from the first process, the others are witnesses."""

    name = "holter"
    requires_logging_directory = False
    main_process_only = False

    def __init__(self, run_name: str, /, **asked: Any) -> None:
        """`init_kwargs={"holter": …}` is what `holter.init()` takes. Raises UsageError."""
        super().__init__()
        self._is_first = is_first_rank()
        self._run: Run | None = join_run(**{"project": run_name, **asked})

    @property
    def tracker(self) -> Run | None:
        """The run."""
        return self._run

    @unraised
    def store_init_configuration(self, values: dict[str, Any]) -> None:
        """Keep the configuration."""
        if self._run is not None and self._is_first:
            self._run.config.update(values)

    @unraised
    def log(self, values: dict[str, Any], step: int | None = None, **_: Any) -> None:
        """Record a row."""
        if self._run is not None and self._is_first:
            self._run.log(values, step=step)

    @unraised
    def log_images(self, values: dict[str, Any], step: int | None = None, **more: Any) -> None:
        """Record pictures: a list of arrays or PIL images for each name."""
        import holter

        images = {name: [holter.Image(each, **more) for each in several] for name, several in values.items()}
        self.log(images, step=step)

    def finish(self) -> None:
        """The training is over; the run ends here."""
        if self._run is not None and self._is_first:
            self._run.finish()


def register() -> None:
    """Make `log_with="holter"` known. Idempotent."""
    LOGGER_TYPE_TO_CLASS["holter"] = HolterTracker
