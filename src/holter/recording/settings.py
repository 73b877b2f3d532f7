"""The client's settings, read once by `init()`: argument, HOLTER_*, WANDB_*, holter.toml, default; in this order."""

import os
import re
from collections.abc import Callable, Mapping
from typing import Any, Literal

import msgspec

from holter.console.files import DEFAULT_LIMIT
from holter.errors import UsageError
from holter.journal.rundir import data_directory

MODES = ("online", "offline", "disabled")
# W&B's older words.
_OLD_MODES = {"run": "online", "dryrun": "offline"}
FILE = "holter.toml"
GUARDS = ("", "interrupt", "off")
GPU_SCALARS = ("later", "wait")
RESUMES = ("allow", "must", "never", "auto")


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """What the user chose for one run; docs/settings.md lists each field."""

    project: str = "uncategorized"
    """Which project the run belongs to."""
    entity: str = ""
    """Whose run it is: a person or a team."""
    name: str = ""
    """What people call the run; need not be unique."""
    run_id: str = ""
    """The run's id; a run that has it already goes on as a new attempt."""
    group: str = ""
    """Runs that belong together, such as the folds of one validation."""
    job_type: str = ""
    """What kind of work the run does: train, eval, …"""
    tags: tuple[str, ...] = ()
    """Words to find the run by; in a variable they are separated by commas."""
    notes: str = ""
    """A longer text about the run."""
    dir: str = ""
    """The one directory under which everything local lies; as an argument: where this run lies."""
    mode: str = "online"
    """online; offline: everything but the network; disabled: nothing at all."""
    url: str = ""
    """The address of the server to which runs are sent; none: the one of `holter login`, or nowhere."""
    api_key: str = ""
    """The key for that server, with the scope `write`; none: the one of `holter login`."""
    not_secret: tuple[str, ...] = ()
    """Names whose values are not masked, though they sound like those of secrets; in a variable separated by commas."""
    resume: str = ""
    """allow: go on if the id exists; must: it has to; never: it must not; auto: the last run that did not end well."""
    disk_limit: int = -1
    """The most bytes the run's directory may take, such as 500MB or 2GiB."""
    console_limit: int = DEFAULT_LIMIT
    """The most bytes of the console that are kept, half of them from the beginning; 0 keeps none."""
    silent: bool = False
    """Print nothing at all in the terminal."""
    quiet: bool = False
    """Print only warnings and verdicts in the terminal."""
    allow_stop: bool = False
    """Let people stop the run from the web page: KeyboardInterrupt in the main thread, as by Ctrl-C."""
    guard: str = ""
    """interrupt: raise MemoryPressure in the main thread before memory is gone; off: no guard says anything."""
    silence: tuple[str, ...] = ()
    """Guards that are to say nothing, such as leak; in a variable separated by commas."""
    gpu_scalars: str = "later"
    """later: a scalar on a GPU is recorded once it has arrived, and nothing waits; wait: log() waits for it."""
    sources: dict[str, str] = {}
    """Where each was found: in `holter.toml`, in a variable, in an argument. No setting by itself."""


ENVIRONMENT: dict[str, str] = {
    "project": "HOLTER_PROJECT",
    "entity": "HOLTER_ENTITY",
    "name": "HOLTER_NAME",
    "run_id": "HOLTER_RUN_ID",
    "group": "HOLTER_GROUP",
    "job_type": "HOLTER_JOB_TYPE",
    "tags": "HOLTER_TAGS",
    "notes": "HOLTER_NOTES",
    "dir": "HOLTER_DIR",
    "mode": "HOLTER_MODE",
    "url": "HOLTER_URL",
    "api_key": "HOLTER_API_KEY",
    "not_secret": "HOLTER_NOT_SECRET",
    "resume": "HOLTER_RESUME",
    "disk_limit": "HOLTER_DISK_LIMIT",
    "console_limit": "HOLTER_CONSOLE_LIMIT",
    "silent": "HOLTER_SILENT",
    "quiet": "HOLTER_QUIET",
    "allow_stop": "HOLTER_ALLOW_STOP",
    "gpu_scalars": "HOLTER_GPU_SCALARS",
    "guard": "HOLTER_GUARD",
    "silence": "HOLTER_SILENCE",
}
# WANDB_DIR means another thing: where one run lies, as init(dir=…).
_WANDB = {"project", "entity", "name", "run_id", "job_type", "tags", "notes", "mode", "resume", "silent", "quiet"}
_WANDB_NAMES = {"group": "WANDB_RUN_GROUP"}
_SAFE_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
# What W&B refuses as well, and what no terminal shows.
_REFUSED_IN_ID = re.compile(r"[:;,#?/'\x00-\x1f\x7f]")
_URL = re.compile(r"https?://[^\s/@?#]+(/[^\s@?#]*)?")
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGT]?)(I?)B?", re.IGNORECASE)


def read_settings(arguments: Mapping[str, Any], environ: Mapping[str, str], *, directory: str = ".") -> Settings:
    """Merge the sources. Raises UsageError for what cannot work: what, why, what to do."""
    in_file, in_environment = _from_file(directory), _from_environment(environ)
    given = {name: value for name, value in arguments.items() if value is not None}
    values: dict[str, Any] = {**in_file, **in_environment, **given}
    unknown = sorted(values.keys() - ENVIRONMENT.keys())
    if unknown:
        raise UsageError(f"unknown setting {unknown[0]!r}: holter has {', '.join(ENVIRONMENT)}")
    settings = {name: _checked(name, value) for name, value in values.items()}
    settings["sources"] = {
        **dict.fromkeys(in_file, FILE),
        **{name: ENVIRONMENT[name] for name in in_environment},
        **dict.fromkeys(given, "an argument"),
    }
    settings["dir"] = data_directory({"HOLTER_DIR": settings["dir"]} if settings.get("dir") else dict(environ))
    return Settings(**settings)


def _from_environment(environ: Mapping[str, str]) -> dict[str, str]:
    found = {}
    for name, variable in ENVIRONMENT.items():
        fallback = _WANDB_NAMES.get(name) or (variable.replace("HOLTER_", "WANDB_") if name in _WANDB else "")
        value = environ.get(variable) or environ.get(fallback, "")
        if value:
            found[name] = value
    return found


def _from_file(directory: str) -> dict[str, Any]:
    path = os.path.join(directory, FILE)
    if not os.path.isfile(path):
        return {}
    import tomllib  # only those who have the file pay for it

    try:
        with open(path, "rb") as file:
            return tomllib.load(file)
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise UsageError(f"{path} can't be read as TOML: {error}; correct it or move it away") from error


def _checked(name: str, value: Any) -> Any:
    if name in ("guard", "silence"):
        return _guard(value) if name == "guard" else _guards(_texts(name, value))
    match name:
        case "tags" | "not_secret":
            return _texts(name, value)
        case "disk_limit" | "console_limit":
            return parse_bytes(value)
        case "silent" | "quiet" | "allow_stop":
            return value if isinstance(value, bool) else is_on(str(value))
        case _ if name in _CHECKS:
            return _CHECKS[name](value)
        case _:
            return _text(name, value)


def is_on(text: str) -> bool:
    """What a variable says that means yes or no."""
    return text.lower() not in ("", "0", "false", "no", "off")


def _text(name: str, value: Any) -> str:
    if isinstance(value, os.PathLike):
        value = os.fspath(value)
    if not isinstance(value, str):
        raise UsageError(f"{name} must be text, got {type(value).__name__} {value!r}")
    if "\0" in value or len(value) > 4096:
        raise UsageError(f"{name} must be at most 4,096 characters without NUL, got {value[:40]!r}…")
    return value


def _texts(name: str, value: Any) -> tuple[str, ...]:
    if isinstance(value, str):
        value = [text.strip() for text in value.split(",")]
    if not isinstance(value, list | tuple | set | frozenset):
        raise UsageError(f"{name} must be a list of texts, got {type(value).__name__} {value!r}")
    return tuple(_text(name, text) for text in value if text)


def _mode(value: Any) -> str:
    value = _OLD_MODES.get(value, value) if isinstance(value, str) else value
    if value not in MODES:
        raise UsageError(f"mode must be one of {', '.join(MODES)}; got {value!r}")
    return str(value)


def _guard(value: Any) -> str:
    if value not in GUARDS:
        raise UsageError(f"guard must be one of {', '.join(map(repr, GUARDS))}; got {value!r}")
    return str(value)


def _guards(ids: tuple[str, ...]) -> tuple[str, ...]:
    from holter.guards.patrol import guard_ids  # only those who silence one pay for it

    if unknown := sorted(set(ids) - set(guard_ids())):
        raise UsageError(f"silence names no guard {unknown[0]!r}: there are {', '.join(guard_ids())}")
    return ids


def _gpu_scalars(value: Any) -> str:
    if value not in GPU_SCALARS:
        raise UsageError(f"gpu_scalars must be one of {', '.join(GPU_SCALARS)}; got {value!r}")
    return str(value)


def _resume(value: Any) -> str:
    if isinstance(value, bool):
        return "auto" if value else ""
    if value not in RESUMES:
        raise UsageError(f"resume must be one of {', '.join(RESUMES)}, True or False; got {value!r}")
    return str(value)


def _run_id(value: Any) -> str:
    if not isinstance(value, str) or not value or _REFUSED_IN_ID.search(value):
        raise UsageError(
            f"the run id {value!r} can't name a directory: use 1 to 128 of A-Z a-z 0-9 . _ -, a letter or digit first"
        )
    return value if _SAFE_ID.fullmatch(value) else _safe_id(value)


def _safe_id(value: str) -> str:
    """The same for the same id, and another for every other one: W&B takes more characters than a directory should."""
    import zlib  # only those who have such an id pay for it

    readable = re.sub(r"[^A-Za-z0-9._-]+", "-", value).strip("-._")[:100]
    return f"{readable or 'run'}-{zlib.crc32(value.encode(errors='replace')):08x}"


def _url(value: Any) -> str:
    text = _text("url", value).strip()
    # A user in the address would be shown wherever the address is.
    if not _URL.fullmatch(text):
        raise UsageError(
            "url must be the address of a holter server without a user or key in it, such as"
            f" https://holter.example.org or http://127.0.0.1:4658; got {text.rpartition('@')[2][:100]!r}"
        )
    return text.rstrip("/")


def _key(value: Any) -> str:
    text = _text("api_key", value).strip()
    if not text.isascii() or not text.isprintable() or " " in text:  # it goes into a header
        raise UsageError("api_key must be a key as `holter server keys add` shows it, without spaces")
    return text


def parse_bytes(value: Any) -> int:
    """`2GB`, `500MiB` or a number of bytes."""
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    match = _SIZE.fullmatch(str(value).strip())
    if match is None:
        raise UsageError(f"a size must be a number of bytes such as 500MB or 2GiB; got {value!r}")
    power: Literal[1000, 1024] = 1024 if match[3] else 1000
    return int(float(match[1]) * power ** " KMGT".index(match[2].upper() or " "))


_CHECKS: dict[str, Callable[[Any], Any]] = {
    "gpu_scalars": _gpu_scalars,
    "resume": _resume,
    "mode": _mode,
    "run_id": _run_id,
    "url": _url,
    "api_key": _key,
}
