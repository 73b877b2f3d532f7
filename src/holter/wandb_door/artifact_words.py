"""What W&B's artifacts have beside holter's: looked up only when somebody asks for it."""

import datetime
import json
import os
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from holter.artifacts.artifact import Artifact, ArtifactFile
from holter.client.media.medium import Media
from holter.client.media.table import Table
from holter.errors import NoArtifact, UsageError
from holter.wandb_door.inert import Inert
from holter.wandb_door.saying import say

if TYPE_CHECKING:
    from holter.client.run import Run

_TABLE = ".table.json"


def _moment(artifact: Artifact) -> str:
    made = datetime.datetime.fromtimestamp(artifact._there.version.made_ns / 1e9, datetime.UTC)
    return made.strftime("%Y-%m-%dT%H:%M:%SZ")


def _add(artifact: Artifact, obj: Any, name: str, overwrite: bool = False) -> Any:
    """W&B's `add`: a table becomes a file `NAME.table.json`, in W&B's format; another medium the file that it is of."""
    if isinstance(obj, ArtifactFile):
        return artifact.add_file(obj.download(), name, overwrite=overwrite)
    if isinstance(obj, Table):
        text = json.dumps(_told(obj), default=str)
        with artifact.new_file(name.removesuffix(_TABLE) + _TABLE, "w" if overwrite else "x") as file:
            file.write(text)
        return artifact.wanted_sources[-1][0]
    path, data = getattr(obj, "_path", None), getattr(obj, "_data", None)
    if path is not None:
        return artifact.add_file(path, _with_ending(name, path), overwrite=overwrite)
    if isinstance(data, bytes) and data:
        with artifact.new_file(name, "wb" if overwrite else "xb") as file:
            file.write(data)
        return None
    kind = type(obj).__name__
    return say(
        f"add {kind}", f"artifact.add() keeps no {kind} made of an array: log() it, or save a file and add_file()"
    )


def _with_ending(name: str, path: str) -> str:
    ending = os.path.splitext(path)[1]
    return name if name.endswith(ending) else name + ending


def _told(table: Table) -> dict[str, Any]:
    rows = [[_cell(value) for value in row] for row in table.data]
    return {"_type": "table", "columns": table.columns, "data": rows, "ncols": len(table.columns), "nrows": len(rows)}


def _cell(value: Any) -> Any:
    if isinstance(value, Media):
        say(
            "add cells",
            f"artifact.add(): a {type(value).__name__} in a cell is kept as its description: log() the table",
        )
        return repr(value)
    return value.tolist() if hasattr(value, "tolist") else value


def _get(artifact: Artifact, name: str) -> Any:
    """W&B's `get`: what was added as a medium; of holter's tables only, None for anything else."""
    try:
        path = artifact.get_path(name.removesuffix(_TABLE) + _TABLE).download()
    except NoArtifact:
        say("get", f"artifact.get({name!r}): there is no table of that name; get_entry(name).download() gets a file")
        return None
    with open(path, encoding="utf-8") as file:
        told = json.load(file)
    return Table(columns=told["columns"], data=told["data"])


def link(artifact: Artifact, target_path: str, aliases: Any = None, *, run: "Run | None" = None) -> Any:
    """The same content under another name of this project, too. Raises NotSealed, UsageError."""
    from holter.artifacts.wishes import Wanted
    from holter.client.artifact_calls import names_of

    name = target_path.partition(":")[0].rpartition("/")[2]
    if run is not None and not artifact.ask and artifact.wanted_sources:
        run.log_artifact(artifact)  # W&B does so, too, where that was forgotten
    there = artifact._there
    project = there.book.project
    wanted = Wanted(
        project=project,
        name=name,
        type=artifact.type,
        at_ns=there.version.made_ns,
        ask=os.urandom(8).hex(),
        run=there.version.run,
        aliases=names_of(aliases),
        description=artifact.description,
        metadata=there.version.metadata,
    )
    return Artifact.of(there.link(wanted))


_WORDS: dict[str, Callable[[Artifact], Any]] = {
    "add": lambda artifact: partial(_add, artifact),
    "get": lambda artifact: partial(_get, artifact),
    "link": lambda artifact: partial(link, artifact),
    "checkout": lambda artifact: artifact.download,
    "finalize": lambda artifact: lambda: None,
    "is_draft": lambda artifact: lambda: artifact.state == "PENDING",
    "id": lambda artifact: artifact.digest,
    "commit_hash": lambda artifact: artifact.digest,
    "created_at": _moment,
    "updated_at": _moment,
    "file_count": lambda artifact: len(artifact.manifest.entries),
    "entity": lambda artifact: "",
    "source_entity": lambda artifact: "",
    "source_project": lambda artifact: artifact.project,
    "source_name": lambda artifact: f"{artifact.name}:{artifact.version}",
    "source_qualified_name": lambda artifact: artifact.qualified_name,
    "source_version": lambda artifact: artifact.version,
    "source_artifact": lambda artifact: artifact,
    "history_step": lambda artifact: None,
    "url": lambda artifact: None,
    "use_as": lambda artifact: None,
    "distributed_id": lambda artifact: None,
    "digest_algorithm": lambda artifact: "sha256",
    "incremental": lambda artifact: False,
    "is_link": lambda artifact: False,
    "linked_artifacts": lambda artifact: [],
}
_LACKING = frozenset(
    """
    unlink new_draft json_encode get_added_local_path_name collection source_collection linked_at file_pattern
    """.split()
)


def attribute(artifact: Artifact, name: str) -> Any:
    """What W&B's artifact has under a name. Raises AttributeError for what it never had."""
    if name in _LACKING:
        return Inert(f"artifact.{name}")
    if name not in _WORDS:
        raise AttributeError(f"an artifact has no {name!r}")
    return _WORDS[name](artifact)


def link_of_run(run: "Run", artifact: Any, target_path: str, aliases: Any = None) -> Any:
    """`run.link_artifact()`. Raises UsageError for what is no artifact."""
    if not isinstance(artifact, Artifact):
        raise UsageError(f"link_artifact() takes an artifact, got {type(artifact).__name__}")
    return link(artifact, target_path, aliases, run=run)


def log_part(run: "Run", artifact: Any, name: str | None = None, *, distributed_id: Any = None, **others: Any) -> Any:
    """`upsert_artifact()` and `finish_artifact()`: what this process has is a version of its own."""
    text = "several processes do not add to one version: each keeps one of what it has itself"
    say("shared artifact", f"upsert_artifact(), finish_artifact(): {text}")
    return run.log_artifact(artifact, name, **others)
