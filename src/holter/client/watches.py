"""The models that are watched, by run, and what W&B's words for that mean here."""

from collections.abc import Sequence
from typing import Any
from weakref import WeakKeyDictionary

from holter.client.tensor_watch import TensorWatch, understand
from holter.errors import UsageError

_watches: "WeakKeyDictionary[Any, list[TensorWatch]]" = WeakKeyDictionary()


def begin(run: Any, models: Any, *, log: Any, log_freq: Any) -> None:
    """Watch one or several models for a run. Raises UsageError."""
    several = list(models) if isinstance(models, Sequence) else [models]
    known = _watches.setdefault(run, []) if run.dir and not run.has_ended else None
    checked = [understand(model, log=log, log_freq=log_freq) for model in several]
    if known is None:
        return  # nothing would be recorded
    if any(each.is_of(model) for each in known for model, _, _ in checked):
        raise UsageError("watch(): this model is watched already; unwatch(model) ends that")
    for number, (model, chosen, freq) in enumerate(checked, len(known)):
        known.append(TensorWatch(run, model, log=chosen, log_freq=freq, prefix=f"graph_{number}/" if number else ""))


def end(run: Any, models: Any = None) -> None:
    """Watch these no more, or none at all."""
    known = _watches.get(run, [])
    several = models if isinstance(models, Sequence) else [models]
    for each in known.copy():
        if models is None or any(each.is_of(model) for model in several):
            each.close()
            known.remove(each)
