"""What W&B's `Api` and its runs have beside holter's: looked up only when somebody asks for it."""

import datetime
import json
import os
import time
from collections.abc import Callable
from functools import partial
from typing import IO, TYPE_CHECKING, Any

from holter.api.run import ApiRun
from holter.errors import NoArtifact, NoRun, UsageError
from holter.recording.settings import read_settings
from holter.wandb_door.inert import Inert
from holter.wandb_door.saying import say

if TYPE_CHECKING:
    from holter.api.recorded_runs import Api
    from holter.api.sweeps import ApiSweep

POLL_S = 1.0
_RENAMED = {"wandb-summary.json": "summary.json", "wandb-metadata.json": "metadata.json"}


class File:
    """A file of a run, in W&B's shape."""

    def __init__(self, run: ApiRun, path: str, size: int) -> None:
        self._run = run
        self._path = path
        self.name = path.removeprefix("files/")
        """Where it lies among the files that `save()` kept."""
        self.size = size
        self.url = self.direct_url = self.path_uri = None
        self.mimetype = None

    def __repr__(self) -> str:
        return f"<file {self.name} of run {self._run.id}, {self.size:,} bytes>"

    def download(self, root: str = ".", replace: bool = False, exist_ok: bool = False, **_: Any) -> IO[str]:
        """Copy it below a directory and open it. Raises ValueError where there is one, unless one of the two is set."""
        target = os.path.join(root, *self.name.split("/"))
        if os.path.exists(target) and not replace and not exist_ok:
            raise ValueError(f"{target} exists: replace=True overwrites it, exist_ok=True takes it as it is")
        if replace or not os.path.exists(target):
            os.makedirs(os.path.dirname(target) or ".", exist_ok=True)
            with open(target, "wb") as file:
                file.write(self._run.read(self._path))
        return open(target, encoding="utf-8", errors="replace")

    def delete(self) -> None:
        """Not possible: what a run recorded stays with it."""
        say("file.delete", f"{self.name} stays with run {self._run.id}: single files of a run can't be removed")


def files(run: ApiRun, names: Any = None, **_: Any) -> list[File]:
    """The files of a run, all or those of some names."""
    found = [File(run, each.path, each.size) for each in ApiRun.files(run)]
    return [each for each in found if not names or each.name in names]


def file_of(run: ApiRun, name: str) -> File:
    """One file by its name. Raises NoRun where there is none."""
    sizes = {each.path: each.size for each in ApiRun.files(run)}
    for path in (f"files/{name}", name, _RENAMED.get(name, name)):
        if path in sizes:
            return File(run, path, sizes[path])
    raise NoRun(f"run {run.id} has no file {name!r}; it has {', '.join(sorted(sizes)[:20]) or 'none'}")


def _moment(run: ApiRun, name: str) -> str | None:
    at = run.fields.get(name)
    return None if at is None else datetime.datetime.fromtimestamp(at, datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _metadata(run: ApiRun) -> dict[str, Any]:
    try:
        return dict(json.loads(run.read("metadata.json")))
    except (NoRun, ValueError):
        return {}


def _system_metrics(run: ApiRun) -> dict[str, Any]:
    keys = [key for key in run.keys() if key.startswith("system/")]  # noqa: SIM118  no dict
    found = ApiRun.history(run, keys, samples=1) if keys else {}
    return {key: float(found[key][-1]) for key in keys if key in found}


def _wait(run: ApiRun, **_: Any) -> None:
    while run.state == "running":
        time.sleep(POLL_S)
        run.refresh()


def _api_of(run: ApiRun) -> "Api":
    """Where a run was asked for."""
    from holter.api.recorded_runs import Api

    data = getattr(run._source, "data", None)
    source: Any = run._source
    return Api(directory=data) if data is not None else Api(source.url, source.key)


def _url_of(run: ApiRun) -> str | None:
    """Its page on the server; None where it stays on this machine, as for the run that records."""
    from holter.wire.addresses import page_of

    url = getattr(run._source, "url", "")
    return f"{url.rstrip('/')}/{page_of(run.project, run.id)}" if url else None


def _sweep_of(run: ApiRun) -> Any:
    """The sweep that it is a trial of, or None."""
    api = _api_of(run)
    found = (api.sweep(each.id) for each in api.sweeps(run.project))
    return next((each for each in found if any(trial.run == run.id for trial in each.trials)), None)


def _user_of(run: ApiRun) -> "Viewer":
    """Whoever started it, as far as that was recorded."""
    return Viewer(str(_metadata(run).get("user") or ""))


def _made_of(run: ApiRun) -> list[Any]:
    """The versions that it kept."""
    return [each for each in _artifacts_near(run) if each.sealed.version.run == run.id]


def _taken_of(run: ApiRun) -> list[Any]:
    """The versions that it took as its input."""
    return [each for each in _artifacts_near(run) if run.id in each.sealed.version.used_by]


def _artifacts_near(run: ApiRun) -> list[Any]:
    from holter.api.artifacts import list_artifacts
    from holter.api.remote import RemoteSource
    from holter.artifacts.far import open_far
    from holter.artifacts.store import Store

    source = run._source
    if not isinstance(source, RemoteSource):
        return list(list_artifacts(Store(source.data), type_=None, name="", project=None))
    far = open_far(source.url, source.key, data=read_settings({}, os.environ).dir)
    return list(list_artifacts(far, type_=None, name="", project=run.project))


def _path_of(run: ApiRun) -> list[str]:
    return [each for each in (str(run.fields.get("entity") or ""), run.project, run.id) if each]


def _not_of_recorded(name: str, run: ApiRun) -> Inert:
    return Inert(f"{name}() of a recorded run")


_LACKING_OF_RUN = """
upload_file use_artifact log_artifact stop update_state create download_history_exports console_logs snake_to_camel
"""
_OF_RUN: dict[str, Callable[[ApiRun], Any]] = {
    "url": _url_of,
    "path": _path_of,
    "storage_id": lambda run: run.id,
    "display_name": lambda run: run.name,
    "created_at": lambda run: _moment(run, "started_at"),
    "createdAt": lambda run: _moment(run, "started_at"),
    "heartbeat_at": lambda run: _moment(run, "last_row_at"),
    "heartbeatAt": lambda run: _moment(run, "last_row_at"),
    "user": _user_of,
    "username": lambda run: _user_of(run).username,
    "sweep": _sweep_of,
    "sweep_name": lambda run: getattr(_sweep_of(run), "id", None),
    "metadata": _metadata,
    "lastHistoryStep": lambda run: -1 if run.fields.get("last_step") is None else int(run.fields["last_step"]),
    "system_metrics": _system_metrics,
    "rawconfig": lambda run: {key: {"value": value} for key, value in run.config.items()},
    "json_config": lambda run: json.dumps({key: {"value": value} for key, value in run.config.items()}, default=str),
    "summary_metrics": lambda run: dict(run.summary),
    "summaryMetrics": lambda run: dict(run.summary),
    "read_only": lambda run: False,
    "file": lambda run: lambda name: file_of(run, name),
    "load": lambda run: lambda force=False: run.refresh(),
    "save": lambda run: run.update,
    "wait_until_finished": lambda run: lambda **options: _wait(run, **options),
    "to_html": lambda run: lambda *_, **__: "",
    "display": lambda run: lambda *_, **__: False,
    "logged_artifacts": lambda run: lambda *_, **__: _made_of(run),
    "used_artifacts": lambda run: lambda *_, **__: _taken_of(run),
    "beta_scan_history": lambda run: run.scan_history,
    "load_full_data": lambda run: lambda force=False: run.refresh().fields,
    **{name: partial(_not_of_recorded, name) for name in _LACKING_OF_RUN.split()},
}


def of_run(run: ApiRun, name: str) -> Callable[[], Any] | None:
    """How to get what W&B's recorded run has under a name; None for what it never had."""
    if name == "state_reason" or name not in _OF_RUN:
        return None
    return lambda: _OF_RUN[name](run)


def _nothing(name: str) -> Callable[..., list[Any]]:
    def none(*_: Any, **__: Any) -> list[Any]:
        say(name, f"{name}() is always empty here: docs/wandb.md names what is different")
        return []

    return none


def _versions(api: "Api", type_name: str | None = None, name: str = "", **others: Any) -> list[Any]:
    others.pop("api_key", None)
    return list(api.artifacts(others.pop("type", None) or type_name, name, **others))


def _is_there(api: "Api", name: str, type: str | None = None) -> bool:  # noqa: A002  as above
    try:
        api.artifact(name, type)
    except NoArtifact:
        return False
    return True


class Project:
    """A project, by its runs."""

    def __init__(self, name: str, api: "Api") -> None:
        self.name = self.id = name
        self.entity = ""
        self.path = [name]
        self._api = api

    def sweeps(self, *_: Any, **__: Any) -> list[Any]:
        """Its sweeps, the newest first."""
        return [self._api.sweep(each.id) for each in self._api.sweeps(self.name)]

    def __repr__(self) -> str:
        return f"<project {self.name}>"

    def __getattr__(self, name: str) -> Any:
        if name not in {"artifacts_types", "collections", "owner", "url", "display", "to_html"}:
            raise AttributeError(f"a project has no {name!r}")
        return None if name == "url" else Inert(f"project.{name}")


def _projects(api: "Api", *_: Any, **__: Any) -> list[Project]:
    return [Project(name, api) for name in sorted({run.project for run in api.runs()})]


def _create_project(api: "Api", name: str, *_: Any, **__: Any) -> None:
    say("create_project", f"project {name!r} comes into being with its first run: nothing has to be created")


def _from_path(api: "Api", path: str) -> Any:
    parts = [part for part in path.split("/") if part not in ("", "runs")]
    if not parts:
        raise UsageError("from_path() takes `project` or `project/run`")
    try:
        return api.run(parts[-1])
    except NoRun:
        return Project(parts[-1], api)


class Viewer:
    """Whoever asks, or started a run: a user of this machine."""

    def __init__(self, name: str = "") -> None:
        from holter.catalog.change.user_name import user_name

        self.username: str = name or user_name()
        self.name: str = self.username
        self.entity = self.email = ""
        self.teams: list[str] = []


_OF_API: dict[str, "Callable[[Api], Any]"] = {
    "viewer": lambda api: Viewer(),
    "default_entity": lambda api: "",
    "api_key": lambda api: None,
    "user_agent": lambda api: "holter",
    "settings": lambda api: {"entity": "", "base_url": api.where},
    "client": lambda api: Inert("Api().client"),
    "projects": lambda api: lambda *args, **options: _projects(api, *args, **options),
    "project": lambda api: lambda name, *_, **__: Project(name, api),
    "create_project": lambda api: lambda name, *args, **options: _create_project(api, name, *args, **options),
    "from_path": lambda api: lambda path: _from_path(api, path),
    "flush": lambda api: lambda: None,
    "reports": lambda api: _nothing("reports"),
    "artifact_versions": lambda api: partial(_versions, api),
    "artifact_exists": lambda api: partial(_is_there, api),
    "artifact_collection_exists": lambda api: partial(_is_there, api),
}
_LACKING = frozenset(
    """
    artifact_type artifact_types artifact_collection artifact_collections job list_jobs queued_run
    run_queue create_run_queue upsert_run_queue user users team create_team create_user create_run registries registry
    integrations
    webhook_integrations slack_integrations create_report sync_tensorboard load_report automation automations
    create_automation create_custom_chart create_registry delete_automation organization update_automation
    """.split()
)


_OF_SWEEP: dict[str, "Callable[[ApiSweep], Any]"] = {
    "entity": lambda sweep: "",
    "path": lambda sweep: [sweep.project, sweep.id],
    "url": lambda sweep: None,
    "username": lambda sweep: "",
    **{
        name: partial(lambda name, sweep: Inert(f"sweep.{name}"), name)
        for name in "agent agents display enqueue_run get to_html".split()
    },
}


def of_sweep(sweep: "ApiSweep", name: str) -> Any:
    """What W&B's sweep has under a name. Raises AttributeError for what it never had."""
    if name not in _OF_SWEEP:
        raise AttributeError(f"a sweep has no {name!r}")
    return _OF_SWEEP[name](sweep)


def of_api(api: "Api", name: str) -> Any:
    """What W&B's `Api` has under a name. Raises AttributeError for what it never had."""
    if name in _LACKING:
        return Inert(f"Api().{name}")
    if name not in _OF_API:
        raise AttributeError(f"the Api has no {name!r}: it has runs() and run()")
    return _OF_API[name](api)
