"""From which checkpoint a run can go on: the newest that is whole. A torn one is never chosen."""

import os
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from holter.artifacts.wholeness import SUFFIXES, judge
from holter.artifacts.wishes import state_of, walk
from holter.journal.digest import digest
from holter.journal.kept_files import FOLDER as FILES
from holter.journal.kept_files import PARTIAL
from holter.journal.rewinding import FORK, REWIND
from holter.journal.rundir import is_run_id, list_segments
from holter.model.artifact_records import ArtifactSealed, Checkpointed, WentOn
from holter.model.record import Record

OWN = "checkpoints"
"""The folder of a run in which states lie that it was handed."""


class Checkpoint(msgspec.Struct, frozen=True, kw_only=True):
    """A checkpoint, and whether it can be gone on from."""

    step: int | None
    path: str
    """Where it lies; empty where only the artifact has it."""
    at_ns: int
    bytes: int = 0
    saver: str = ""
    metrics: str = "{}"
    artifact: str = ""
    """`name:v3`, where it is kept as one."""
    trouble: str = ""
    """Why it can't be gone on from; empty for a whole one."""


def checkpoints_of(
    said: Sequence[Record], directory: str, *, is_here: bool = True, generations: int = 100
) -> list[Checkpoint]:
    """All that a run's journals tell of, and its files that look like some, oldest first; each is looked at.

    Those that the run abandoned when it went back are none of them; those of a run that it was forked from are.

    Args:
        is_here: false where the paths are those of other machines, whoever wrote them: then nobody looks there, and a
            checkpoint is what its writer left.
    """
    told = [record for record in said if isinstance(record, Checkpointed)]
    sealed = {r.ask: f"{r.name}:v{r.version}" for r in said if isinstance(r, ArtifactSealed) and r.version >= 0}
    look = _look if is_here else _believe
    found = [look(record, sealed.get(record.ask, "")) for record in told]
    known = {os.path.realpath(each.path) for each in found if each.path}
    found += [each for each in _saved(directory) if os.path.realpath(each.path) not in known]
    went = [record for record in said if isinstance(record, WentOn)]
    back = [record for record in went if record.how == REWIND]
    found = [each for each in found if not any(_is_behind(each, record) for record in back)]
    for fork in went:
        if fork.how == FORK and is_run_id(fork.run) and generations:
            above = os.path.join(os.path.dirname(directory), fork.run)
            found += _inherited(fork, above, is_here=is_here, generations=generations)
    return sorted(found, key=lambda each: each.at_ns)


def _is_behind(checkpoint: Checkpoint, back: WentOn) -> bool:
    return checkpoint.at_ns < back.since_ns and (checkpoint.step or 0) > back.step


def _inherited(fork: WentOn, directory: str, *, is_here: bool, generations: int) -> list[Checkpoint]:
    said = [
        record
        for journal, paths in (list_segments(directory) if os.path.isdir(directory) else {}).items()
        if (found := digest(journal, paths)) is not None
        for record in found.said
    ]
    known = checkpoints_of(said, directory, is_here=is_here, generations=generations - 1)
    return [each for each in known if each.step is not None and each.step <= fork.step]


def last_whole(found: Iterable[Checkpoint]) -> Checkpoint | None:
    """The one to go on from: of the greatest step, then the newest."""
    whole = [each for each in found if not each.trouble]
    return max(whole, key=lambda each: (each.step if each.step is not None else -1, each.at_ns), default=None)


def state_of_file(path: str, *, then_ns: int | None = None) -> tuple[int, ...]:
    """By what a file or folder is known again: of a folder, the bytes of what was there then. Raises OSError.

    What other ranks add to it later is none of that; what is written over it is not there any more.
    """
    if not os.path.isdir(path):
        return state_of(os.stat(path))
    found = [status for _, status, _ in walk(path)]
    newest_ns = max((each.st_mtime_ns for each in found), default=0) if then_ns is None else then_ns
    return 0, 0, sum(each.st_size for each in found if each.st_mtime_ns <= newest_ns), newest_ns


def _look(record: Checkpointed, artifact: str) -> Checkpoint:
    path, trouble = record.path, ""
    try:
        if record.state and state_of_file(path, then_ns=record.state[-1])[2:] != tuple(record.state[2:]):
            trouble = "something else was written under its name"
        else:
            os.stat(path)
            trouble = judge(path).trouble
    except OSError:
        trouble = "it is not there any more"
    if trouble and artifact:
        path, trouble = "", ""  # sealed, and so whole
    return msgspec.structs.replace(_believe(record, artifact), path=path, trouble=trouble)


def _believe(record: Checkpointed, artifact: str) -> Checkpoint:
    return Checkpoint(
        step=record.step,
        path=record.path,
        at_ns=record.at_ns,
        bytes=record.bytes,
        saver=record.saver,
        metrics=record.metrics,
        artifact=artifact,
    )


def _saved(directory: str) -> Iterator[Checkpoint]:
    """Copies of files that frameworks wrote and `run.save` kept: each was replaced as a whole."""
    folder = os.path.join(directory, FILES)
    if not os.path.isdir(folder):
        return
    try:
        kept = [(name, status, at) for name, status, at in walk(folder) if name.endswith(SUFFIXES)]
    except OSError:
        return
    for name, status, at in kept:
        if not name.endswith(PARTIAL) and status.st_size:
            judged = judge(at)
            yield Checkpoint(
                step=judged.step,
                path=at,
                at_ns=status.st_mtime_ns,
                bytes=status.st_size,
                saver=judged.saver,
                trouble=judged.trouble,
            )
