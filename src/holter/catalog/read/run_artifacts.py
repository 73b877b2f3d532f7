"""Which versions a run made, wanted to make, and used, by what its journals say."""

from typing import Literal

import msgspec

from holter.catalog.read.loaded_run import LoadedRun
from holter.model.artifact_records import ArtifactLogged, ArtifactSealed, ArtifactUsed

State = Literal["made", "used", "waits", "absent"]
"""`waits`: the wish is written down, and nobody has made a version of it yet."""


class RunArtifact(msgspec.Struct, frozen=True, kw_only=True):
    """A version, or one that a run wanted."""

    state: State
    project: str
    name: str
    type: str
    at: float
    version: str = ""
    """On the machine where the run was; empty for none."""
    digest: str = ""
    files: int = 0
    bytes: int = 0
    new_bytes: int = 0
    why: str = ""
    """Why there is none."""


def artifacts_of(loaded: LoadedRun) -> list[RunArtifact]:
    """In the order in which the program asked for them."""
    sealed = {record.ask: record for record in loaded.said(ArtifactSealed)}
    found = [_wanted(loaded.row.project, record, sealed.get(record.ask)) for record in loaded.said(ArtifactLogged)]
    used = [
        RunArtifact(
            state="used",
            project=record.project,
            name=record.name,
            type=record.type,
            at=record.at_ns / 1e9,
            version=f"v{record.version}",
            digest=record.digest,
        )
        for record in loaded.said(ArtifactUsed)
    ]
    return sorted([*found, *used], key=lambda each: each.at)


def _wanted(project: str, asked: ArtifactLogged, sealed: ArtifactSealed | None) -> RunArtifact:
    state: State = "waits" if sealed is None else "absent" if sealed.version < 0 else "made"
    return RunArtifact(
        state=state,
        project=project,
        name=asked.name,
        type=asked.type,
        at=asked.at_ns / 1e9,
        version=f"v{sealed.version}" if sealed is not None and sealed.version >= 0 else "",
        digest=sealed.digest if sealed is not None else "",
        files=asked.files,
        bytes=(sealed.bytes if sealed is not None else 0) or asked.bytes,
        new_bytes=sealed.new_bytes if sealed is not None else 0,
        why=sealed.why if sealed is not None else "",
    )
