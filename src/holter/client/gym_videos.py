"""`init(monitor_gym=True)`: videos that Gymnasium, or the older gym, writes of environments are media of the run."""

import functools
import os
import sys
from collections.abc import Callable
from typing import Any

from holter.client import active
from holter.client.arrivals import when_imported

KEY = "videos"
# Module, class and method after which a video is whole, and where it lies then.
_WRITERS: tuple[tuple[str, str, str, Callable[[Any], str]], ...] = (
    (
        "gymnasium.wrappers.rendering",
        "RecordVideo",
        "stop_recording",
        lambda recorder: os.path.join(recorder.video_folder, f"{recorder._video_name}.mp4"),
    ),
    ("gymnasium.wrappers.monitoring.video_recorder", "VideoRecorder", "close", lambda recorder: recorder.path),
    ("gym.wrappers.monitoring.video_recorder", "VideoRecorder", "close", lambda recorder: recorder.path),
)


def follow_videos() -> None:
    """Have every video recorded whose wrapper is imported, before or later. Idempotent."""
    for module, kind, method, path_of in _WRITERS:
        when_imported(module, functools.partial(_follow, module, kind, method=method, path_of=path_of))


def _follow(module: str, kind: str, *, method: str, path_of: Callable[[Any], str]) -> None:
    home = getattr(sys.modules[module], kind, None)
    plain = getattr(home, method, None)
    if plain is None or hasattr(plain, "holter_follow"):
        return

    @functools.wraps(plain)
    def stop(self: Any, *args: Any, **kwargs: Any) -> Any:
        path = _asked(path_of, self)  # its name is forgotten when it is written
        answer = plain(self, *args, **kwargs)
        _keep(path)
        return answer

    stop.holter_follow = True  # type: ignore[attr-defined]  # a mark of ours
    setattr(home, method, stop)


def _asked(path_of: Callable[[Any], str], recorder: Any) -> str:
    try:
        return os.path.abspath(path_of(recorder))
    except Exception:  # noqa: BLE001  nothing is being recorded, or another version's wrapper
        return ""


def _keep(path: str) -> None:
    run = active.current()
    if run is None or not path or not os.path.isfile(path):
        return  # an environment that was closed without a frame writes none
    try:
        from holter.client.media.video import Video

        run.log({KEY: Video(path, caption=os.path.basename(path))}, commit=False)
    except Exception as error:  # noqa: BLE001  the boundary
        run.report("monitor_gym", error)
