"""What programs written for W&B ask of `init()`: in our words where we have some, else a sentence that says so."""

import re
from collections.abc import Mapping, MutableMapping
from typing import Any

from holter.errors import UsageError
from holter.recording.settings import ENVIRONMENT, is_on

# What they ask for is so anyway, or is about an account at W&B.
_HOLDS_ANYWAY = frozenset("allow_val_change anonymous force save_code".split())
_NOT_YET = {
    "magic": "is not supported: only what log() is given is recorded",
}
_TENSORBOARD = ("sync_tensorboard", "tensorboard")
_GYM = "monitor_gym"
_NO_VARIABLES = {
    "WANDB_CONFIG_PATHS": "init(config='file.yaml') takes such a file",
    "WANDB_IGNORE_GLOBS": "save() keeps only the files that it is given",
    **dict.fromkeys(
        ("WANDB_CONFIG_DIR", "WANDB_CACHE_DIR", "WANDB_DATA_DIR", "WANDB_ARTIFACT_DIR"),
        "HOLTER_DIR moves everything that holter keeps here",
    ),
    "WANDB_HOST": "the machine's own name is recorded",
}
_SERVER = "WANDB_BASE_URL"
_KEYS = ("config_exclude_keys", "config_include_keys")
_RENAMED = {
    **{f"run_{name}": name for name in ("name", "group", "job_type", "notes", "tags")},
    "root_dir": "dir",
    "wandb_dir": "dir",
}
_ARGUMENTS = ("resume_from", "fork_from", "reinit")
"""What may be set as well as given."""
_SWITCHES = {"disable_git": "WANDB_DISABLE_GIT", "disable_code": "WANDB_DISABLE_CODE"}
"""What the recorder reads in the environment of the program."""
_KEY_OF_WANDB = re.compile(r"[0-9a-f]{40}|wandb_.+")


def is_of_wandb(address: str, key: str = "") -> bool:
    """Whether a server is one of W&B's, or a company's own of it: by its name, or by the form of its key."""
    return "wandb" in address or bool(_KEY_OF_WANDB.fullmatch(key))


def set_by_variables(environ: Mapping[str, str]) -> dict[str, str]:
    """What W&B reads in the environment as it reads its settings."""
    names = (*_ARGUMENTS[:2], *_TENSORBOARD[:1], *_SWITCHES)
    found = {name: environ.get(f"WANDB_{name.upper()}", "") for name in names}
    if environ.get("WANDB_SAVE_CODE") and not is_on(environ["WANDB_SAVE_CODE"]):
        found["disable_code"] = "true"
    return {name: value for name, value in found.items() if is_on(value)}


class Understood:
    """What was asked for in holter's words, and what is to be said about the rest. Raises UsageError."""

    def __init__(self, settings: Mapping[str, Any], arguments: Mapping[str, Any], *, others: Mapping[str, Any]) -> None:
        self.remarks: list[str] = []
        self._others = {**{name: settings[name] for name in _TENSORBOARD if name in settings}, **others}
        self._look_at_others()
        left = {name: value for name, value in settings.items() if name not in (*_TENSORBOARD, *_ARGUMENTS)}
        self.settings = {**self._renamed(left), **arguments}
        if False in (settings.get("save_code"), others.get("save_code")):
            self.settings["disable_code"] = True
        if self.settings.get("mode") == "shared":
            self.settings["mode"] = "online"
            self._say("mode='shared' is not supported yet: it is taken as online, and whoever finishes ends the run")

    def look_at_environment(self, environ: MutableMapping[str, str]) -> None:
        """W&B's own switch for programs that call its `init()`; ours and an argument say otherwise."""
        for name, variable in _SWITCHES.items():
            if self.settings.pop(name, None):
                environ[variable] = "true"
        for name, instead in _NO_VARIABLES.items():
            if environ.get(name):
                self._say(f"{name} is not read: {instead}")
        if not environ.get("HOLTER_URL"):
            self._look_at_address(_SERVER, environ.get(_SERVER, ""))
        if environ.get("WANDB_DIR") and not environ.get("HOLTER_DIR"):
            self.settings.setdefault("dir", environ["WANDB_DIR"])
        if environ.get("WANDB_CONSOLE") == "off" and not environ.get("HOLTER_CONSOLE_LIMIT"):
            self.settings.setdefault("console_limit", 0)
        disabled = environ.get("WANDB_DISABLED", "")
        if is_on(disabled) and not environ.get("HOLTER_MODE") and "mode" not in self.settings:
            self.settings["mode"] = "disabled"
            self._say(f"WANDB_DISABLED={disabled}: nothing is recorded; HOLTER_MODE=online records anyway")

    def look_at_id(self, chosen: str) -> None:
        """Some of W&B's ids can't be ours."""
        asked = self.settings.get("run_id")
        if asked is not None and asked != chosen:
            self._say(f"the run id {asked!r} can't name a directory: it is {chosen!r} here, each time")

    @property
    def syncs_tensorboard(self) -> bool:
        """Whether what is written for TensorBoard is to be recorded."""
        return any(self._others.get(name) for name in _TENSORBOARD)

    @property
    def follows_videos(self) -> bool:
        """Whether videos of environments are to be recorded."""
        return bool(self._others.get(_GYM))

    def leave_out(self, config: dict[str, Any]) -> dict[str, Any]:
        """The configuration as far as it is wanted."""
        without, only = (self._others.get(name) for name in _KEYS)
        if without and only:
            raise UsageError(f"{' and '.join(_KEYS)} can't both be given: leave one out")
        if only:
            return {key: value for key, value in config.items() if key in only}
        return {key: value for key, value in config.items() if key not in (without or ())}

    def _look_at_address(self, name: str, address: str) -> None:
        if address and "wandb.ai" not in address:
            self._say(f"{name} is not read: HOLTER_URL, or `holter login URL`, names a holter server")

    def _look_at_others(self) -> None:
        known = {_GYM, *_TENSORBOARD, *_HOLDS_ANYWAY, *_NOT_YET, *_KEYS}
        for name, value in self._others.items():
            if name not in known:
                raise UsageError(f"init() has no argument {name!r}: settings={{...}} takes what docs/settings.md lists")
            if value and name in _NOT_YET:
                self._say(f"{name} {_NOT_YET[name]}")

    def _renamed(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        found = {_RENAMED.get(name, name): value for name, value in settings.items() if name not in _HOLDS_ANYWAY}
        console = found.pop(
            "console", None
        )  # W&B's ways to catch it make no difference; that it is not to be caught does
        if console == "off":
            found["console_limit"] = 0
        if found.pop("disabled", None):
            found["mode"] = "disabled"
        if _KEY_OF_WANDB.fullmatch(str(found.get("api_key") or "")):
            del found["api_key"]
            self._say("api_key is one of W&B's and is not used: `holter login URL` keeps the one of a server")
        if address := found.pop("base_url", None):
            self._look_at_address("base_url", str(address))
        foreign = [name for name in found if name not in (*ENVIRONMENT, *_SWITCHES) and not _means_ours(name)]
        if foreign:
            self._say(f"settings {', '.join(foreign)} mean nothing here and change nothing")
        return {name: value for name, value in found.items() if name not in foreign}

    def _say(self, text: str) -> None:
        self.remarks.append(text)


def _means_ours(name: str) -> bool:
    """Whether it is rather one of holter's settings with a slip of the pen."""
    import difflib  # only those who have unknown settings pay for it

    return bool(difflib.get_close_matches(name, ENVIRONMENT, n=1, cutoff=0.85))
