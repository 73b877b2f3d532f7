"""`run.use_artifact()`: finds a version, on the run's server or here, and writes down that it is an input."""

import importlib
import os
import time
from typing import TYPE_CHECKING, Any

from holter.artifacts.artifact import Artifact
from holter.artifacts.asks import list_asks, read_ask
from holter.artifacts.names import ArtifactName, parse_name
from holter.artifacts.uploading import Waiting, enqueue, list_waiting
from holter.artifacts.wishes import Wanted
from holter.client.artifact_calls import data_of, find, server_of, start_keeper, wait_for_own
from holter.errors import HolterError, NoArtifact
from holter.model.artifact_records import ArtifactUsed

if TYPE_CHECKING:
    from holter.client.artifact_run import ArtifactRun


def use_in(run: "ArtifactRun", given: Any, *, type_: str | None, others: dict[str, Any]) -> Artifact:
    """Find it, and write down that it is an input. Raises NoArtifact: who asks for an input can't go on without."""
    if ignored := sorted(name for name, value in others.items() if value):
        run.remark(f"use_artifact(): {', '.join(ignored)} is not supported, and changes nothing")
    found = given.wait() if isinstance(given, Artifact) else look_up(run, given)
    if type_ is not None and found.type != type_:
        raise NoArtifact(f"{found.name} is of type {found.type!r}, not {type_!r}")
    if not run.dir:
        return found
    try:
        _note_use(run, found, str(given))
    except Exception as error:  # noqa: BLE001  the boundary: the input is there, that it was used is a note
        run.report("use_artifact", error)
    return found


def look_up(run: "ArtifactRun", given: Any) -> Artifact:
    """The version of this name: the server's, if the run is sent to one that has it, else that of this machine.

    What this machine has not sent yet is newer than what the server knows of it. Raises NoArtifact, UsageError.
    """
    wanted, data, because = parse_name(given, project=run.project), data_of(), ""
    wait_for_own(wanted.name)
    if (upload := server_of(run)) is not None and not _is_waiting(data, wanted, upload.url):
        # HTTP is loaded by those alone who ask a server.
        far = importlib.import_module("holter.artifacts.far").open_far(upload.url, upload.key, data=data)
        try:
            return Artifact.of(far.find(wanted))
        except HolterError as error:
            because = str(error)
    try:
        return Artifact.of(find(data, given, run.project))
    except NoArtifact as error:
        raise NoArtifact(f"{error}; {because}" if because else str(error)) from error


def _is_waiting(data: str, wanted: ArtifactName, url: str, /) -> bool:
    asked = [ask.wanted for path in list_asks(data) if (ask := read_ask(path)) is not None and ask.url == url]
    asked += [waiting.wanted for _, waiting in list_waiting(data) if waiting.url == url and not waiting.is_use]
    return any((each.project, each.name) == (wanted.project, wanted.name) for each in asked)


def _note_use(run: "ArtifactRun", found: Artifact, asked: str) -> None:
    number, now_ns = int(found.version[1:]), time.time_ns()
    run.keep(
        ArtifactUsed(
            at_ns=now_ns,
            project=found.project,
            name=found.name,
            type=found.type,
            version=number,
            digest=found.digest,
            asked=asked,
        )
    )
    found.sealed.note_use(run.id)
    if run.server and not found.where:
        ask = os.urandom(8).hex()
        wanted = Wanted(project=found.project, name=found.name, type=found.type, at_ns=now_ns, ask=ask, run=run.id)
        data = data_of()
        enqueue(data, Waiting(url=run.server, wanted=wanted, number=number, is_use=True))
        start_keeper(run, data)
