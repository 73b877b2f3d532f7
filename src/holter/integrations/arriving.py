"""Makes holter known to frameworks once they are imported."""

import importlib
import os
from functools import partial

from holter.client.arrivals import when_imported

_KNOWN_BY_NAME = {
    "accelerate.tracking": "accelerate:register",
    "transformers.integrations.integration_utils": "transformers:register",
}
_AUTOLOG = {
    "catboost": "catboost:autolog",
    "fastai.learner": "fastai:autolog",
    "keras": "keras:autolog",
    "lightgbm": "lightgbm:autolog",
    "stable_baselines3": "stable_baselines3:autolog",
    "transformers.trainer": "transformers:autolog",
    "ultralytics.utils.callbacks.base": "ultralytics:autolog",
    "xgboost": "xgboost:autolog",
}
is_autologging = False
"""Whether `autolog()` was called, for frameworks that ask."""


def expect_frameworks() -> None:
    """Make `report_to="holter"` and `log_with="holter"` known to whoever is imported, now or later. Idempotent."""
    _expect(_KNOWN_BY_NAME)
    if is_asked():
        autolog()


def is_asked() -> bool:
    """Whether `autolog()` was called, or the environment asks for it."""
    return is_autologging or os.environ.get("HOLTER_AUTOLOG", "") not in ("", "0")


def autolog() -> None:
    """Record every training of a framework that calls back: whatever is imported, now or later. Idempotent.

    A run begins with the first training, unless there is an active one.
    """
    global is_autologging
    if not is_autologging:
        is_autologging = True
        _expect(_AUTOLOG)


def _expect(calls: dict[str, str]) -> None:
    for module, call in calls.items():
        when_imported(module, partial(_call, call))


def _call(call: str) -> None:
    name, _, function = call.partition(":")
    getattr(importlib.import_module(f"holter.integrations.{name}"), function)()
