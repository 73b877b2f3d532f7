"""`run.checkpoint()`, `run.last_checkpoint()` and `holter.resume()`."""

import contextlib
import importlib
import json
import os
import sys
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from holter.artifacts.artifact import Artifact
from holter.artifacts.asks import read_answer
from holter.artifacts.checkpoints import OWN, Checkpoint, checkpoints_of, last_whole, state_of_file
from holter.artifacts.draft import IMMUTABLE, MUTABLE, plain_metadata
from holter.artifacts.names import ArtifactName
from holter.artifacts.wholeness import judge
from holter.artifacts.wishes import walk
from holter.client.artifact_calls import data_of, find, log_to, rule_of, server_of
from holter.client.trial import read_trial
from holter.errors import NoArtifact, UsageError
from holter.journal.rundir import list_segments, make_private, sync_directory
from holter.journal.stop_request import read_stop_request, write_stop_request
from holter.model.artifact_records import Checkpointed
from holter.model.record import Record

if TYPE_CHECKING:
    from holter.client.artifact_run import ArtifactRun
    from holter.journal.digest import Digest

RESUME_FROM = "HOLTER_RESUME_FROM"
_RULE = {"keep", "best", "mode", "policy", "artifact", "name"}
_OWN_FILES = 2
"""So many states of our own stay as files, until they are kept as artifacts."""


def chosen_by_variable(run: "ArtifactRun | None", chosen: str) -> Checkpoint:
    """The checkpoint that HOLTER_RESUME_FROM names. Raises UsageError where it is torn or missing."""
    path = os.path.abspath(os.path.expanduser(chosen))
    if not os.path.exists(path):
        raise UsageError(f"{RESUME_FROM} is {chosen!r}, which is not there: name a checkpoint, or leave it out")
    judged = judge(path)
    if judged.trouble:
        raise UsageError(
            f"{RESUME_FROM} is {chosen!r}, which is torn ({judged.trouble}): name another, or leave it out"
        )
    known = next((each for each in _all(run) if each.path == path), None) if run is not None else None
    trial = read_trial()
    step = trial.step if trial is not None and trial.goes_on_from == chosen else judged.step
    return known or Checkpoint(step=step, path=path, at_ns=os.stat(path).st_mtime_ns, saver=judged.saver)


def own_of_job(run: "ArtifactRun", environ: Mapping[str, str]) -> Checkpoint | None:
    """The newest whole one that a job has kept which was started anew; None for others, and where it has kept none.

    It finds the variables of its first start again: what they name is older.
    """
    counts = (environ.get(name, "") for name in ("TORCHELASTIC_RESTART_COUNT", "SLURM_RESTART_COUNT"))
    if not any(count.isdecimal() and int(count) for count in counts):
        return None
    # Such a job counts its attempts from 1: the newest of these was its first start.
    first = [each.opened for each in _digests(run.dir) if each.opened.writer == "client" and each.opened.attempt == 1]
    return last_of(run, since_ns=max((each.at_ns for each in first), default=0))


def checkpoint_of(
    run: "ArtifactRun", given: Any, step: int | None, /, *, metrics: Mapping[str, Any] | None, rule: dict[str, Any]
) -> str:
    """Keep a checkpoint. What fails is reported: the training goes on without it."""
    try:
        if unknown := sorted(rule.keys() - _RULE):
            raise UsageError(f"checkpoint() knows no {unknown[0]!r}: it takes {', '.join(sorted(_RULE))}")
        if not run.dir:
            return ""
        return _checkpoint(
            run, given, max(0, run.step - 1) if step is None else int(step), plain_metadata(metrics or {}), rule
        )
    except Exception as error:  # noqa: BLE001  the boundary
        run.report("checkpoint", error)
        return ""


def _checkpoint(run: "ArtifactRun", given: Any, step: int, metrics: dict[str, Any], rule: dict[str, Any]) -> str:
    is_file = isinstance(given, str | os.PathLike)
    path = os.path.abspath(os.path.expanduser(os.fsdecode(given))) if is_file else _write(run, given, step)
    judged = judge(path)
    if judged.trouble:
        raise UsageError(f"{path} is no whole checkpoint, and is not kept: {judged.trouble}")
    found = (
        [(status.st_size, at) for _, status, at in walk(path)]
        if os.path.isdir(path)
        else [(os.stat(path).st_size, path)]
    )
    state, ask = state_of_file(path), ""
    if rule.get("artifact", True):
        kept = _as_artifact(run, path, is_file, rule, {"step": step, "metrics": metrics, "saver": judged.saver})
        ask = kept.ask
    run.keep(
        Checkpointed(
            at_ns=time.time_ns(),
            step=step,
            path=path,
            bytes=sum(size for size, _ in found),
            files=len(found),
            metrics=json.dumps(metrics),
            saver=judged.saver,
            ask=ask,
            state=state,
        )
    )
    if not is_file:
        _tidy(run)
    _let_stop(run)
    return path


def _let_stop(run: "ArtifactRun") -> None:
    """Who wants the run to stop after a checkpoint may have it now: the sidecar sees the wish within a second."""
    wish = read_stop_request(run.dir)
    if wish is not None and wish.after == "checkpoint" and wish.attempt in (0, run.attempt):
        write_stop_request(run.dir, msgspec.structs.replace(wish, after="", at_ns=time.time_ns()))


def _as_artifact(
    run: "ArtifactRun", path: str, is_file: bool, rule: dict[str, Any], metadata: dict[str, Any], /
) -> Artifact:
    artifact = Artifact(rule.get("name") or name_of(run), "checkpoint", metadata=metadata)
    # Nobody else writes to a file of ours.
    policy = rule.get("policy", MUTABLE if is_file else IMMUTABLE)
    if os.path.isdir(path):
        artifact.add_dir(path, policy=policy)
    else:
        artifact.add_file(path, policy=policy)
    return log_to(run, artifact, None, type_=None, aliases=None, others={"keep": rule_of(rule)})


def _write(run: "ArtifactRun", state: Any, step: int) -> str:
    """A file of its own: written under another name, synced, then named, then the name synced."""
    folder = os.path.join(run.dir, OWN)
    make_private(folder)
    torch = sys.modules.get("torch")
    path = os.path.join(folder, f"step-{step:09d}.{'pt' if torch is not None else 'pkl'}")
    temporary = os.path.join(folder, f".{os.path.basename(path)}.{os.getpid()}.partial")
    try:
        with open(os.open(temporary, os.O_CREAT | os.O_TRUNC | os.O_WRONLY | os.O_CLOEXEC, 0o600), "wb") as file:
            if torch is not None:
                torch.save(state, file)
            else:
                import pickle

                pickle.dump(state, file, protocol=pickle.HIGHEST_PROTOCOL)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
    sync_directory(folder)
    return path


def _tidy(run: "ArtifactRun") -> None:
    """Older states of our own that are artifacts by now need no file."""
    folder, said = os.path.join(run.dir, OWN), _said(run.dir)
    asks = {record.path: record.ask for record in said if isinstance(record, Checkpointed)}
    names = sorted(name for name in os.listdir(folder) if name.startswith("step-"))
    for name in names[:-_OWN_FILES]:
        path = os.path.join(folder, name)
        answer = read_answer(data_of(), asks.get(path) or "-")
        if answer is not None and answer.number >= 0:
            with contextlib.suppress(OSError):
                os.unlink(path)


def last_of(run: "ArtifactRun", *, since_ns: int = 0) -> Checkpoint | None:
    """The newest whole one since then; what only the artifact has is fetched."""
    try:
        found = [each for each in _all(run) if each.at_ns >= since_ns]
        while (best := last_whole(found)) is not None:
            if best.path:
                return best
            if fetched := _fetch(run, best):
                return fetched
            found.remove(best)
        if run.has_known_id and not found and not since_ns:
            return _from_server(run)
    except Exception as error:  # noqa: BLE001  the boundary
        run.report("last_checkpoint", error)
    return None


def _from_server(run: "ArtifactRun") -> Checkpoint | None:
    """Where this machine knows of none: the run may have begun on another one, whose disk is gone with it."""
    if (upload := server_of(run)) is None:
        return None
    # HTTP is loaded by those alone who ask a server.
    far = importlib.import_module("holter.artifacts.far").open_far(upload.url, upload.key, data=data_of())
    try:
        book = far.book(run.project, name_of(run))
    except NoArtifact:
        return None
    versions = [version for version in book.live() if isinstance(version.metadata.get("step"), int)]
    if not versions:
        return None
    version = max(versions, key=lambda each: (each.metadata["step"], each.made_ns))
    artifact = Artifact.of(far.find(ArtifactName(run.project, book.name, version.name)))
    folder = os.path.join(run.dir, OWN, f"{book.name}-{version.name}-of-server")
    path = _path_in(artifact.download(folder), artifact)
    return Checkpoint(
        step=version.metadata["step"],
        path=path,
        at_ns=version.made_ns,
        bytes=version.bytes,
        saver=str(version.metadata.get("saver") or ""),
        metrics=json.dumps(version.metadata.get("metrics") or {}),
        artifact=f"{book.name}:{version.name}",
    )


def _path_in(folder: str, artifact: Artifact) -> str:
    files = artifact.files()
    return os.path.join(folder, files[0].path) if len(files) == 1 else folder


def name_of(run: "ArtifactRun") -> str:
    """The artifact that its checkpoints are versions of, where nothing else is said."""
    return f"checkpoint-{run.id}"[:128]


def _fetch(run: "ArtifactRun", wanted: Checkpoint) -> Checkpoint | None:
    from holter.errors import HolterError

    try:
        artifact = Artifact.of(find(data_of(), wanted.artifact, run.project))
        folder = artifact.download(os.path.join(run.dir, OWN, wanted.artifact.replace(":", "-")))
    except (HolterError, OSError):  # its rule let it go
        return None
    return msgspec.structs.replace(wanted, path=_path_in(folder, artifact))


def _all(run: "ArtifactRun") -> list[Checkpoint]:
    return checkpoints_of(_said(run.dir), run.dir) if run.dir else []


def _said(directory: str) -> list[Record]:
    return [record for found in _digests(directory) for record in found.said]


def _digests(directory: str) -> "list[Digest]":
    from holter.journal.digest import digest

    journals = list_segments(directory) if directory else {}
    return [found for journal, paths in journals.items() if (found := digest(journal, paths))]
