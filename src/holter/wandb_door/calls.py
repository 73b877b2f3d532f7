"""The functions of W&B's module that holter has no use for itself: each does what it can, and says what it does not."""

import os
import sys
from collections.abc import Callable
from typing import IO, Any

from holter.client.wandb_words import is_of_wandb
from holter.errors import NoRun, UsageError
from holter.recording.login import find_upload
from holter.recording.settings import read_settings
from holter.wandb_door.saying import say, voice

api_key = None


def login(key: str | None = None, *, host: str | None = None, **others: Any) -> bool:
    """Say where runs go. A `host` that is no W&B is the holter server of this process from here on, with that key."""
    ours = host is not None and not is_of_wandb(host, key or "")
    if ours:
        os.environ["HOLTER_URL"] = str(host)
        if key:
            os.environ["HOLTER_API_KEY"] = key
    upload = find_upload(read_settings({}, os.environ))
    where = f"runs go to {upload.url}" if upload is not None else "runs stay on this machine"
    given = [each for each in (f"{host}" if host else "", "W&B's key" if key else "") if each and not ours]
    unused = f", and {' and '.join(given)} {'are' if len(given) > 1 else 'is'} not used" if given else ""
    say("login", f"login() needs no account: {where}{unused}; `holter login URL` sends them to a holter server")
    return True


def setup(settings: Any = None) -> None:
    """W&B starts a service here; holter needs none."""


def teardown(exit_code: int | None = None) -> None:
    """End whatever run is active."""
    import holter

    holter.finish(exit_code)


def join(exit_code: int | None = None) -> None:
    """The old word for `finish`."""
    teardown(exit_code)


def require(*_: Any, **__: Any) -> None:
    """Switches of W&B's own machinery, such as `core` and `service`: there is nothing to switch here."""


def ensure_configured() -> None:
    """Nothing has to be."""


def attach(attach_id: str | None = None, run_id: str | None = None, **_: Any) -> Any:
    """The active run, which is inherited by forked and spawned processes by itself. Raises UsageError for another."""
    from holter.client import active

    run = active.current()
    wanted = run_id or attach_id
    if run is None or (wanted and run.id != wanted):
        raise UsageError(
            f"there is no run {wanted or ''} to attach to in this process: hand the run object to the other process, "
            f"or init(id={wanted or '…'!r}, resume='allow') there"
        )
    return run


_attach = attach


def termsetup(settings: Any = None, logger: Any = None) -> None:
    """Nothing has to be set up."""


def termlog(string: str = "", newline: bool = True, repeat: bool = True, prefix: bool = True) -> None:
    """Print a line to stderr, or once only."""
    if repeat:
        voice().forget(string)
    voice().warn(string, string)


def termwarn(string: str, newline: bool = True, repeat: bool = True, prefix: bool = True) -> None:
    """The same for a warning."""
    termlog(string, newline, repeat)


termerror = termwarn


def can_use_terminput() -> bool:
    """Nobody is asked anything."""
    return False


def terminput(prompt: str = "", **_: Any) -> str:
    """Nobody is asked anything. Raises UsageError."""
    raise UsageError("holter asks nobody in the terminal: give the answer as an argument")


def set_trace() -> None:
    """Start the debugger."""
    breakpoint()


def parse_config(params: Any, exclude: Any = None, include: Any = None) -> dict[str, Any]:
    """A configuration as a dict, without some names or with some only. Raises UsageError."""
    from holter.client.named_values import names_given

    if exclude and include:
        raise UsageError("exclude and include can't both be given: leave one out")
    values = names_given(params, "config")
    if include:
        return {name: value for name, value in values.items() if name in include}
    return {name: value for name, value in values.items() if name not in (exclude or ())}


def restore(name: str, run_path: str | None = None, replace: bool = False, root: str | None = None) -> IO[str] | None:
    """A file that a run saved, copied below `root` and opened; None where there is none, and that is said.

    Args:
        run_path: `project/id`; left out, the active run. Raises NoRun where there is neither.
        replace: overwrite what is there already.
    """
    from holter.api.recorded_runs import Api
    from holter.client import active

    run = active.current()
    if run_path is None and run is None:
        raise NoRun("restore() needs a run: call init() first, or name one as run_path='project/id'")
    target = os.path.join(root or (run.dir if run is not None and run.dir else "."), name)
    if not os.path.exists(target) or replace:
        found = Api().run(run_path or (run.id if run is not None else ""))
        paths = {each.path for each in found.files()}
        kept = next((path for path in (f"files/{name}", name) if path in paths), None)
        if kept is None:
            raise ValueError(f"run {found.id} has no file {name!r}: save() keeps files with a run")
        os.makedirs(os.path.dirname(target) or ".", exist_ok=True)
        with open(target, "wb") as file:
            file.write(found.read(kept))
    return open(target, encoding="utf-8")


def _of_active(name: str) -> Callable[..., Any]:
    def call(*args: Any, **options: Any) -> Any:
        from holter.client import active

        return getattr(active.the_run(f"{name}()"), name)(*args, **options)

    call.__name__ = name
    return call


link_artifact, upsert_artifact, finish_artifact, pin_config_keys = map(
    _of_active, ("link_artifact", "upsert_artifact", "finish_artifact", "pin_config_keys")
)

_SKIPPED = {"__pycache__", "node_modules", "wandb", "site-packages", "venv", "env"}
MOST_CODE_FILES = 1000


def log_code(
    root: str | None = ".",
    name: str | None = None,
    include_fn: Callable[..., bool] = lambda path: path.endswith(".py"),
    exclude_fn: Callable[..., bool] = lambda path: False,
    *,
    run: Any = None,
) -> list[str]:
    """Keep copies of source files with the active run, below `files`; returns where they are."""
    from holter.client import active

    top = os.path.abspath(root or ".")
    kept: list[str] = []
    found = _code_files(top, include_fn, exclude_fn)
    for path in found[:MOST_CODE_FILES]:
        kept += (run or active.the_run("log_code()")).save(_literal(path), base_path=top, policy="now")
    if len(found) > MOST_CODE_FILES:
        left = len(found) - MOST_CODE_FILES
        say(
            "log_code",
            f"log_code({root!r}) finds {len(found):,} files: {left:,} of them are not kept; name a smaller root",
        )
    if name:
        say(
            "log_code name", f"log_code(name={name!r}): the files are the run's, under `files`; they have no other name"
        )
    return kept


def _code_files(top: str, include: Callable[..., bool], exclude: Callable[..., bool]) -> list[str]:
    found = []
    for folder, folders, names in os.walk(top):
        folders[:] = sorted(each for each in folders if each not in _SKIPPED and not each.startswith("."))
        found += [
            path
            for path in (os.path.join(folder, each) for each in sorted(names))
            if _asked(include, path, top) and not _asked(exclude, path, top)
        ]
    return found


def _asked(choose: Callable[..., bool], path: str, top: str) -> bool:
    """W&B's newer functions of this kind take the root as well."""
    code = getattr(choose, "__code__", None)
    return bool(choose(path, top) if code is not None and code.co_argcount > 1 else choose(path))


def _literal(path: str) -> str:
    """As a pattern that matches nothing else."""
    import glob

    return glob.escape(path) if sys.platform != "win32" else path
