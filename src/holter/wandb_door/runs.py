"""What W&B's run has beside holter's: by `Run.__getattr__`, so that none of it costs a run that does not ask."""

import contextlib
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from holter.client.defining import Metric
from holter.client.mappings import Config, Summary
from holter.wandb_door.saying import say
from holter.wandb_door.settings import Settings

if TYPE_CHECKING:
    from holter.client.run import Run

__all__ = ["Config", "Metric", "RunDisabled", "Summary", "SummaryDisabled", "attribute"]


class RunDisabled:
    """W&B's run of `mode="disabled"`; holter's is a `Run` like any other."""


class SummaryDisabled(dict[str, Any]):
    """Its summary."""


def _path(run: "Run") -> str:
    return "/".join(filter(None, (run.entity, run.project, run.id)))


def _project_url(run: "Run") -> str | None:
    if run.url is None:
        return None
    from holter.wire.addresses import page_of

    return f"{run.server}/{page_of(run.project, '')}".rstrip("/")


def _settings(run: "Run") -> Settings:
    return Settings(
        project=run.project,
        entity=run.entity,
        run_id=run.id,
        run_name=run.name,
        run_group=run.group,
        run_job_type=run.job_type,
        run_notes=run.notes,
        run_tags=run.tags,
        mode="online" if run.server else "offline" if run.dir else "disabled",
        files_dir=run.dir,
        sync_dir=run.dir,
        resumed=run.resumed,
        run_url=run.url,
        disabled=not run.dir,
    )


PROPERTIES: dict[str, "Callable[[Run], Any]"] = {
    "path": _path,
    "project_url": _project_url,
    "start_time": lambda run: run.started_at,
    "sweep_id": lambda run: os.environ.get("HOLTER_SWEEP_ID") or os.environ.get("WANDB_SWEEP_ID") or None,
    "sweep_url": lambda run: None,
    "settings": _settings,
    "_settings": _settings,
    "offline": lambda run: not run.server,
    "disabled": lambda run: not run.dir,
    "config_static": lambda run: _Static(run.config.as_dict()),
    "sync_dir": lambda run: run.dir,
    "_name": lambda run: run.name,
    "_run_id": lambda run: run.id,
    "_step": lambda run: run.step,
    "_start_time": lambda run: run.started_at,
    "_attach_id": lambda run: run.id,
    "_is_finished": lambda run: run.has_ended,
}


class _Static:
    """A copy of the configuration that nobody can change, by attribute."""

    def __init__(self, values: dict[str, Any]) -> None:
        self._values = values

    def __getattr__(self, name: str) -> Any:
        with contextlib.suppress(KeyError):
            return self._values[name]
        raise AttributeError(f"the config has no {name!r}; it has {', '.join(self._values) or 'nothing yet'}")

    def __getitem__(self, name: str) -> Any:
        return self._values[name]

    def keys(self) -> list[str]:
        """The names in it."""
        return list(self._values)


class Status:
    """What `run.status()` answers."""

    def __init__(self, run: "Run") -> None:
        self.sync_items_total = self.sync_items_pending = 0
        self.sync_time = None
        self.run = run

    def __repr__(self) -> str:
        return f"<status of {self.run!r}>"


def _to_html(run: "Run", height: int = 420, hidden: bool = False) -> str:
    return run._repr_mimebundle_().get("text/html", "")


def _display(run: "Run", height: int = 420, hidden: bool = False) -> bool:
    try:
        from IPython.display import display
    except ImportError:
        return False
    display(run)  # type: ignore[no-untyped-call]  # IPython's
    return True


def _write_logs(run: "Run", text: str) -> None:
    from holter.client import active

    active.print_copies(text.encode(errors="replace"))


def _pin_config_keys(run: "Run", keys: Any) -> None:
    say("pin_config_keys", "pin_config_keys() changes nothing: the table's column picker shows any key of a config")


def _log_code(run: "Run", *args: Any, **options: Any) -> Any:
    from holter.wandb_door.calls import log_code

    return log_code(*args, **options, run=run)


def _restore(run: "Run", name: str, run_path: str | None = None, replace: bool = False, root: str | None = None) -> Any:
    from holter.wandb_door.calls import restore

    return restore(name, run_path or run.id, replace, root)


def _link(run: "Run", *args: Any, **options: Any) -> Any:
    from holter.wandb_door.artifact_words import link_of_run

    return link_of_run(run, *args, **options)


def _log_part(run: "Run", *args: Any, **options: Any) -> Any:
    from holter.wandb_door.artifact_words import log_part

    return log_part(run, *args, **options)


METHODS: dict[str, Callable[..., Any]] = {
    "get_url": lambda run: run.url,
    "get_project_url": _project_url,
    "project_name": lambda run: run.project,
    "join": lambda run, exit_code=None: run.finish(exit_code),
    "status": Status,
    "to_html": _to_html,
    "display": _display,
    "write_logs": _write_logs,
    "pin_config_keys": _pin_config_keys,
    "log_code": _log_code,
    "restore": _restore,
    "link_artifact": _link,
    "upsert_artifact": _log_part,
    "finish_artifact": _log_part,
    # What frameworks tell W&B of themselves.
    "_label": lambda run, *_, **__: None,
}

_LACKING = frozenset(
    """
    _backend _public_api _telemetry_obj _config _hooks _teardown_hooks
    """.split()
)


def lacking() -> frozenset[str]:
    """The names that do nothing here."""
    return _LACKING


def attribute(run: "Run", name: str) -> Any:
    """What W&B's run has under a name. Raises AttributeError for what it never had."""
    if name in PROPERTIES:
        return PROPERTIES[name](run)
    if name in METHODS:
        method = METHODS[name]
        return lambda *args, **options: _harmless(run, name, lambda: method(run, *args, **options))
    if name in _LACKING:
        from holter.wandb_door.inert import Inert

        return Inert(f"run.{name}")
    raise AttributeError(f"a run has no {name!r}")


def _harmless(run: "Run", name: str, call: Callable[[], Any]) -> Any:
    try:
        return call()
    except Exception as error:
        if name == "restore":
            raise
        run.report(name, error)
        return None
