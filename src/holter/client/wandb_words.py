"""What programs written for W&B ask of `init()`: in our words where we have some, else a sentence that says so."""

from collections.abc import Mapping
from typing import Any

from holter.errors import UsageError
from holter.recording.settings import ENVIRONMENT, is_on

# What they ask for is so anyway, or is about an account at W&B.
_HOLDS_ANYWAY = frozenset("allow_val_change anonymous force save_code".split())
_NOT_YET = {
    "sync_tensorboard": "is not supported yet: what is written for TensorBoard is not recorded; log() it as well",
    "tensorboard": "is not supported yet: what is written for TensorBoard is not recorded; log() it as well",
    "monitor_gym": "is not supported yet: videos of environments are not recorded; save() keeps their files",
    "magic": "is not supported: only what log() is given is recorded",
}
_ANOTHER_RUN = {
    "resume_from": "init(id=…, resume='must') goes on with a run, and rows of the same step replace the old ones",
    "fork_from": "init(config=…) takes over what the other one was set to",
}
_KEYS = ("config_exclude_keys", "config_include_keys")
_RENAMED = {f"run_{name}": name for name in ("name", "group", "job_type", "notes", "tags")}


class Understood:
    """What was asked for in holter's words, and what is to be said about the rest. Raises UsageError."""

    def __init__(self, settings: Mapping[str, Any], arguments: Mapping[str, Any], *, others: Mapping[str, Any]) -> None:
        self.remarks: list[str] = []
        self._others = others
        self._look_at_others()
        self.settings = {**self._renamed(settings), **arguments}
        if self.settings.get("mode") == "shared":
            self.settings["mode"] = "online"
            self._say("mode='shared' is not supported yet: it is taken as online, and whoever finishes ends the run")

    def look_at_environment(self, environ: Mapping[str, str]) -> None:
        """W&B's own switch for programs that call its `init()`; ours and an argument say otherwise."""
        disabled = environ.get("WANDB_DISABLED", "")
        if is_on(disabled) and not environ.get("HOLTER_MODE") and "mode" not in self.settings:
            self.settings["mode"] = "disabled"
            self._say(f"WANDB_DISABLED={disabled}: nothing is recorded; HOLTER_MODE=online records anyway")

    def look_at_id(self, chosen: str) -> None:
        """Some of W&B's ids can't be ours."""
        asked = self.settings.get("run_id")
        if asked is not None and asked != chosen:
            self._say(f"the run id {asked!r} can't name a directory: it is {chosen!r} here, each time")

    def leave_out(self, config: dict[str, Any]) -> dict[str, Any]:
        """The configuration as far as it is wanted."""
        without, only = (self._others.get(name) for name in _KEYS)
        if without and only:
            raise UsageError(f"{' and '.join(_KEYS)} can't both be given: leave one out")
        if only:
            return {key: value for key, value in config.items() if key in only}
        return {key: value for key, value in config.items() if key not in (without or ())}

    def _look_at_others(self) -> None:
        known = {*_HOLDS_ANYWAY, *_NOT_YET, *_ANOTHER_RUN, *_KEYS}
        for name, value in self._others.items():
            if name not in known:
                raise UsageError(f"init() has no argument {name!r}: settings={{...}} takes what docs/settings.md lists")
            if value and name in _NOT_YET:
                self._say(f"{name} {_NOT_YET[name]}")
            elif value and name in _ANOTHER_RUN:
                self._say(f"{name}={value!r} is not supported yet: this is a new run; {_ANOTHER_RUN[name]}")

    def _renamed(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        found = {_RENAMED.get(name, name): value for name, value in settings.items() if name not in _HOLDS_ANYWAY}
        console = found.pop(
            "console", None
        )  # W&B's ways to catch it make no difference; that it is not to be caught does
        if console == "off":
            found["console_limit"] = 0
        foreign = [name for name in found if name not in ENVIRONMENT and not _means_ours(name)]
        if foreign:
            self._say(f"settings {', '.join(foreign)} mean nothing here and change nothing")
        return {name: value for name, value in found.items() if name not in foreign}

    def _say(self, text: str) -> None:
        self.remarks.append(text)


def _means_ours(name: str) -> bool:
    """Whether it is rather one of holter's settings with a slip of the pen."""
    import difflib  # only those who have unknown settings pay for it

    return bool(difflib.get_close_matches(name, ENVIRONMENT, n=1, cutoff=0.85))
