"""What a journal says of artifacts and checkpoints."""

from holter.model.bounds import Instant, Small, Whole
from holter.model.record import Record


class ArtifactLogged(Record, frozen=True, kw_only=True):
    """The program wants files to be a version. Without an `ArtifactSealed` of the same wish it is not there yet."""

    ask: str
    """The wish, as `ArtifactSealed` and the store call it."""
    name: str
    type: str
    aliases: tuple[str, ...] = ()
    files: Whole = 0
    bytes: Whole = 0
    policy: str = ""


class ArtifactSealed(Record, frozen=True, kw_only=True):
    """What became of a wish: a version that is whole, or none, and why."""

    ask: str
    name: str
    type: str
    version: Small = -1
    """Below zero where there is none."""
    digest: str = ""
    bytes: Whole = 0
    new_bytes: Whole = 0
    """What it added to the store."""
    why: str = ""


class ArtifactUsed(Record, frozen=True, kw_only=True):
    """The program takes a version as its input."""

    project: str
    name: str
    type: str
    version: Small
    digest: str = ""
    asked: str = ""
    """The alias or version under which it asked."""


class Checkpointed(Record, frozen=True, kw_only=True):
    """A checkpoint is whole on the disk, as its writer says: from it the run can go on."""

    step: Whole
    path: str
    bytes: Whole = 0
    files: Whole = 1
    metrics: str = "{}"
    """Numbers by name, as a JSON object."""
    saver: str = ""
    """Whose form it has: torch, dcp, deepspeed, huggingface, keras, lightning, orbax, safetensors, … Empty: unknown."""
    ask: str = ""
    """The wish to keep it as an artifact; empty for none."""
    state: tuple[Whole, ...] = ()
    """Device, inode, size and time of the last change of the file, by which one that was replaced is known; of a folder
    0, 0, the bytes of all its files and the time of the last change of any of them."""


class WentOn(Record, frozen=True, kw_only=True):
    """This attempt begins at a step of an earlier history: what comes after that step there counts no more here."""

    run: str
    """Whose history."""
    step: Whole
    how: str = "rewind"
    """`rewind`: of the same run; `fork`: of another one."""
    since_ns: Instant = 0


ARTIFACT_KINDS: dict[int, type[Record]] = {
    55: ArtifactLogged,
    56: ArtifactSealed,
    57: ArtifactUsed,
    58: Checkpointed,
    59: WentOn,
}
