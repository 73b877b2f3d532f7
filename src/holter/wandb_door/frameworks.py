"""W&B's callbacks for frameworks, in holter's: made where the framework is installed, with W&B's arguments."""

import importlib
from collections.abc import Callable
from typing import Any

from holter.wandb_door.names import KERAS
from holter.wandb_door.saying import say

_HOMES = {
    "keras": "keras",
    "sb3": "stable_baselines3",
    "xgboost": "xgboost",
    "lightgbm": "lightgbm",
    "catboost": "catboost",
    "fastai": "fastai",
    "ultralytics": "ultralytics",
}
# What holter's own callback does anyway, or what only changes how much is shown.
_NO_MATTER = {"verbose", "log", "log_params", "define_metric", "initial_global_step", "log_feature_importance"}


def find_callback(module: str, name: str) -> Any:
    """What `wandb.keras.WandbCallback` and the like are here; None for what holter has no like of.

    Raises ImportError where the framework is not installed.
    """
    framework = module.removeprefix("wandb.").removeprefix("integration.").partition(".")[0]
    if (framework, name) == ("tensorboard", "patch"):
        return _follow_tensorboard
    if (framework, name) == ("gym", "monitor"):
        return _follow_videos
    if framework == "sklearn":
        return _of_sklearn(module, name)
    make = _MAKERS.get((framework, name))
    if make is None:
        return None
    return make(importlib.import_module(f"holter.integrations.{_HOMES[framework]}"))


def _follow_tensorboard(
    save: bool = True, tensorboard_x: Any = None, pytorch: Any = None, root_logdir: Any = ""
) -> None:
    """W&B's `tensorboard.patch`: every SummaryWriter is followed, whichever is meant."""
    from holter.client.tensorboard import sync_tensorboard

    sync_tensorboard()


def _of_sklearn(module: str, name: str) -> Any:
    """W&B's charts; and what people take from scikit-learn through W&B's module, for it was imported there."""
    if module.endswith((".metrics", ".model_selection")):
        return getattr(importlib.import_module(f"sklearn.{module.rpartition('.')[2]}"), name, None)
    return getattr(importlib.import_module("holter.integrations.sklearn_plots"), name, None)


def _follow_videos() -> None:
    """W&B's `gym.monitor`: the videos of environments are media of the active run."""
    from holter.client.gym_videos import follow_videos

    follow_videos()


def say_unused(name: str, options: dict[str, Any]) -> None:
    """Name what an argument of W&B's would do, and holter does not."""
    left = sorted(each for each, value in options.items() if value not in (None, False) and each not in _NO_MATTER)
    if left:
        say(
            f"{name} {left}",
            f"{name}({', '.join(left)}) change nothing: docs/integrations.md says what is recorded",
        )


def _plain(home: Any) -> Any:
    """A callback whose arguments make no difference."""

    def make(*_: Any, **options: Any) -> Any:
        say_unused("WandbCallback", options)
        return home.HolterCallback()

    return make


def _keras(name: str) -> Callable[[Any], Any]:
    return lambda home: getattr(importlib.import_module("holter.wandb_door.keras_callbacks"), name)


def _sb3(home: Any) -> Any:
    return importlib.import_module("holter.wandb_door.sb3_callback").WandbCallback


def _ultralytics(home: Any) -> Any:
    def add_wandb_callback(model: Any, *_: Any, **options: Any) -> Any:
        say_unused("add_wandb_callback", options)
        home.add_callbacks(model)
        return model

    return add_wandb_callback


_MAKERS: dict[tuple[str, str], Callable[[Any], Any]] = {
    **{("keras", name): _keras(name) for name in KERAS.split()},
    ("sb3", "WandbCallback"): _sb3,
    ("xgboost", "WandbCallback"): _plain,
    ("xgboost", "wandb_callback"): _plain,
    ("lightgbm", "wandb_callback"): _plain,
    ("catboost", "WandbCallback"): _plain,
    ("fastai", "WandbCallback"): _plain,
    ("ultralytics", "add_wandb_callback"): _ultralytics,
}
