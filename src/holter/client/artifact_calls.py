"""What `log_artifact`, `use_artifact` and their like do in the training process: a wish is written down, no more."""

import contextlib
import os
import re
import threading
import time
from typing import TYPE_CHECKING, Any

from holter.artifacts.artifact import Artifact, Sealed
from holter.artifacts.asks import URL, Ask, stage, staged_folder, start_worker, submit
from holter.artifacts.book import LATEST, Keep, check_alias, check_keep
from holter.artifacts.draft import IMMUTABLE, MUTABLE, plain_metadata
from holter.artifacts.names import ArtifactName, parse_name
from holter.artifacts.wishes import Source, Wanted
from holter.errors import NotSealed, UsageError
from holter.model.artifact_records import ArtifactLogged
from holter.recording.login import find_upload
from holter.recording.settings import read_settings
from holter.recording.spawning import way_to_package
from holter.recording.threads import start_quietly
from holter.wire.way_back import Upload

if TYPE_CHECKING:
    from holter.client.artifact_run import ArtifactRun

WAIT_S = 60.0
_asked_here: dict[str, Artifact] = {}
"""What this process logged last under each name."""
_ADDRESS = re.compile(r"[a-z][a-z0-9]*://")


def data_of() -> str:
    """The data directory that this process records into."""
    return read_settings({}, os.environ).dir


def log_to(
    run: "ArtifactRun", given: Any, name: str | None, /, *, type_: str | None, aliases: Any, others: dict[str, Any]
) -> Artifact:
    """Write down the wish. What the caller got wrong is reported, as everything is once training runs."""
    artifact = given if isinstance(given, Artifact) else Artifact("unnamed", "unspecified")
    try:
        if artifact is not given:
            artifact = Artifact(_usable(name, given, run.id), type_ or "unspecified")
            _fill(artifact, given, policy=others.pop("policy", MUTABLE))
        keep, tags = others.pop("keep", None), others.pop("tags", None)
        if tags:
            artifact.tags = tags
        if ignored := sorted({*(name for name, value in others.items() if value), *artifact.unsupported}):
            run.remark(f"log_artifact(): {', '.join(ignored)} of {artifact.name} is not supported, and changes nothing")
        artifact.project = run.project
        if run.dir:
            return _log(run, artifact, names_of(aliases), keep=keep)
    except Exception as error:  # noqa: BLE001  the boundary
        run.report("log_artifact", error)
    artifact.goes_nowhere = True
    return artifact


def _log(run: "ArtifactRun", artifact: Artifact, aliases: tuple[str, ...], *, keep: Keep | None) -> Artifact:
    data, ask = data_of(), os.urandom(8).hex()
    wanted = Wanted(
        project=run.project,
        name=artifact.name,
        type=artifact.type,
        at_ns=time.time_ns(),
        ask=ask,
        run=run.id,
        aliases=aliases,
        description=artifact.description,
        metadata=plain_metadata(artifact.metadata),
        ttl_s=artifact.ttl_s,
        keep=keep,
    )
    named = artifact.wanted_sources
    mutable = [source for source, policy in named if policy == MUTABLE and not source.reference]
    staged, trouble = _stage(mutable, staged_folder(data, ask))
    sources = tuple(staged.get(source.path, source) for source, _ in named)
    submit(
        data,
        Ask(
            wanted=wanted,
            sources=() if trouble else sources,
            same_as=artifact.same_as,
            trouble=str(trouble or ""),
            directory=run.dir,
            attempt=run.attempt,
            url=run.server,
        ),
    )
    total = sum(source.bytes for source in sources)
    policy = MUTABLE if mutable else IMMUTABLE
    run.keep(
        ArtifactLogged(
            at_ns=wanted.at_ns,
            ask=ask,
            name=artifact.name,
            type=artifact.type,
            aliases=aliases,
            files=len(sources),
            bytes=total,
            policy=policy,
        )
    )
    artifact.was_asked(
        data,
        ask,
        lambda number: find_version(data, ArtifactName(run.project, artifact.name, f"v{number}")),
        start=lambda: start_keeper(run, data),
    )
    _asked_here[artifact.name] = artifact
    start_keeper(run, data)
    if trouble is not None:
        run.report("log_artifact", trouble)
    return artifact


def _stage(mutable: list[Source], folder: str) -> tuple[dict[str, Source], NotSealed | None]:
    """Copies of files that may be written to from now on, by name; and why there can be no version of them."""
    try:
        return {source.path: source for source in stage(mutable, folder)} if mutable else {}, None
    except NotSealed as error:
        return {}, error
    except FileNotFoundError as error:
        return {}, NotSealed(f"{error.filename} was removed before it could be copied")
    except OSError:
        import shutil  # only failures need it

        shutil.rmtree(folder, ignore_errors=True)  # a full disk: what was copied by then must not keep it so
        raise


def start_keeper(run: "ArtifactRun", data: str) -> None:
    """Start the process that keeps and sends.

    In a thread, for on a busy machine it takes its time; the program does not end before that is done.
    """
    environment = _environment(run)
    thread = threading.Thread(target=start_worker, args=(data, environment), name="holter-artifacts")
    try:
        start_quietly(thread)
    except RuntimeError:  # the program is ending, and has no more threads
        start_worker(data, environment)


def _environment(run: "ArtifactRun") -> dict[str, str]:
    """What the process gets that keeps and sends the version: the key for the run's server, and for no other."""
    environment = way_to_package(os.environ)
    environment.pop("HOLTER_API_KEY", None)
    if (upload := server_of(run)) is not None:
        environment["HOLTER_API_KEY"], environment[URL] = upload.key, run.server
    return environment


def server_of(run: "ArtifactRun") -> Upload | None:
    """The server to which the run is sent, with the key for it; None where it stays on this machine."""
    upload = find_upload(read_settings({}, os.environ)) if run.server else None
    return upload if upload is not None and upload.url == run.server else None


def names_of(aliases: Any) -> tuple[str, ...]:
    """Aliases as a caller gives them: one, several or none. Raises UsageError."""
    given = [aliases] if isinstance(aliases, str) else list(aliases or ())
    return tuple(check_alias(alias) for alias in dict.fromkeys(given) if alias != LATEST)


def _usable(name: str | None, given: Any, run: str) -> str:
    if name is not None:
        return name
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", os.path.basename(os.fsdecode(given).rstrip("/"))).strip("-._")
    return f"run-{run}-{plain or 'files'}"[:128]


def _fill(artifact: Artifact, given: Any, *, policy: str) -> None:
    text = os.fsdecode(given)
    if _ADDRESS.match(text):
        artifact.add_reference(text)
    elif os.path.isdir(text):
        artifact.add_dir(text, policy=policy)
    else:
        artifact.add_file(text, policy=policy)


def find(data: str, text: str, project: str, /) -> Sealed:
    """The version of this name in the local store. Raises NoArtifact, UsageError."""
    return find_version(data, parse_name(text, project=project))


def find_version(data: str, wanted: ArtifactName) -> Sealed:
    """The same, taken apart: a project may have any letters in its name. Raises NoArtifact."""
    from holter.artifacts.store import Store

    store = Store(data)
    book = store.book(wanted.project, wanted.name)
    return Sealed(store, book, book.find(wanted.alias))


def wait_for_own(name: str) -> None:
    """What this process logged under a name a moment ago is waited for."""
    asked = _asked_here.get(name)
    if asked is not None and asked.state == "PENDING":
        with contextlib.suppress(NotSealed):
            asked.wait(WAIT_S)


def model_path(artifact: Artifact) -> str:
    """The file of a model, or its folder where it has several. Raises NoArtifact."""
    folder, files = artifact.download(), artifact.files()
    return os.path.join(folder, files[0].path) if len(files) == 1 else folder


def link_to(run: "ArtifactRun", path: Any, registered: str, /, *, name: str | None, aliases: Any) -> Artifact:
    """Keep a model, then the same content under the registered name: it is read, and copied, once."""
    logged = run.log_model(path, name)
    try:
        linked = Artifact(registered.rpartition("/")[2], "model")
    except UsageError as error:
        run.report("link_model", error)
        return logged
    linked.same_as = logged.ask
    return run.log_artifact(linked, aliases=aliases) if logged.ask else logged


def rule_of(given: dict[str, Any]) -> Keep:
    """Which versions a rule keeps, from keywords. Raises UsageError."""
    return check_keep(
        Keep(last=int(given.get("keep", 5)), best=str(given.get("best") or ""), mode=given.get("mode", "min"))
    )
