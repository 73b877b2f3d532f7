"""What a run can be asked to do around the training: each method loads what it needs when it is called."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from holter.client.boundary import harmless

if TYPE_CHECKING:
    from holter.doctor.finding import Finding


class ToolsOfRun:
    """A part of `Run`, which says what becomes of failures."""

    dir: Any

    def report(self, doing: str, error: Exception) -> None:
        """Count a failure of ours and say it once."""
        raise NotImplementedError

    def remark(self, text: str) -> None:
        """Say something about the run that its user should know, once."""
        raise NotImplementedError

    def _is_over(self, doing: str) -> bool:
        """Whether the run has ended; if so, it is said."""
        raise NotImplementedError

    @harmless
    def doctor(self, *workers_get: Any, checkpoints: Sequence[str] = ()) -> "list[Finding]":
        """Say, before training, what will bite it here; returns the same, nothing on a healthy machine.

        Takes some tenths of a second, in a process of its own.

        Args:
            workers_get: what worker processes are to get; data loaders of the calling code are found by themselves.
            checkpoints: the directories that checkpoints go to; left out, the working directory.
        """
        from holter.client.doctoring import examine_here  # only those who ask pay for it

        return examine_here(self, workers_get, checkpoints=checkpoints)

    @harmless
    def watch(
        self,
        /,
        models: Any,
        criterion: Any = None,
        log: str | None = "gradients",
        log_freq: int = 1000,
        idx: int | None = None,
        log_graph: bool = False,
        **others: Any,
    ) -> None:
        """Record norms, NaN, Inf and underflow of a torch model by layer; nothing waits for the device.

        The first layer and step at which something is not finite are said at once.

        Args:
            models: a `torch.nn.Module`, or several.
            criterion: taken for W&B's sake, and not used.
            log: `gradients`, `parameters`, or `all`: both, and the layers' outputs are looked at for NaN.
            log_freq: a row is logged each so many steps of the optimizer; NaN is looked for at each.
            idx, log_graph, others: of W&B, which are not supported; that is said.
        """
        self._is_over("watch()")
        from holter.client.watches import begin  # only those who watch pay for it

        for name in [name for name, value in {"idx": idx, "log_graph": log_graph, **others}.items() if value]:
            self.remark(f"watch(): {name} is not supported, and changes nothing")
        begin(self, models, log=log, log_freq=log_freq)

    @harmless
    def unwatch(self, models: Any = None) -> None:
        """Watch these models no more; left out, none."""
        from holter.client.watches import end

        end(self, models)
