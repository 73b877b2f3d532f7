"""What earlier attempts of a run left behind, for the one that continues it."""

import contextlib
import fcntl
import os
import time
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from holter.errors import NewerJournal, UsageError
from holter.journal.kept_files import replace_file
from holter.journal.rundir import list_segments, make_private, run_directory
from holter.model.artifact_records import WentOn
from holter.model.records import Described
from holter.probes.identity import ProcessIdentity, is_alive, this_process, writer_of
from holter.recording.identity import id_of_place, place_of, shared_key
from holter.recording.settings import Settings

if TYPE_CHECKING:
    from holter.journal.digest import Digest

_LATE_S = 60.0
"""What was written to more lately may be at work still."""


class Past(msgspec.Struct):
    """Empty for a run that is new."""

    attempts: int = 0
    is_alive: bool = False
    """A process of the newest attempt still runs: whoever comes now joins it instead of beginning another."""
    has_history: bool = False
    """Somebody has recorded into it before, and not only the launcher that it was made by."""
    described: Described | None = None
    described_by: str = ""
    config: dict[str, Any] = {}
    last: dict[str, Any] = {}
    next_step: int = 0
    went_on: WentOn | None = None
    """Where the newest attempt began, if it went back."""
    forked: WentOn | None = None
    """From where the run was forked."""


class _Owner(msgspec.Struct, frozen=True):
    """Who continues a run."""

    process: ProcessIdentity
    job: str = ""


class Bookmark:
    """Remembers which run has not ended well, for `resume="auto"`; else nothing.

    One for each project, and for each place in which a scheduler starts the same program again.
    """

    def __init__(self, settings: Settings, environ: Mapping[str, str]) -> None:
        self._settings = settings
        self._place, self._path = "", ""
        self._owner = _Owner(process=this_process(), job=shared_key(environ, ""))
        self._has_ranks = "RANK" in environ
        """Then others begin the same run at this moment, and may."""
        if settings.resume == "auto":
            self._place = place_of(environ)
            name = "".join(letter if letter.isalnum() else f"%{ord(letter):x}" for letter in settings.project)[:200]
            name += f"@{id_of_place('', self._place)}" if self._place else ""
            self._path = os.path.join(settings.dir, "resume", name)

    def claim(self) -> str:
        """The run to continue, empty where there is none, or somebody else continues it. It is ours then."""
        if not self._path:
            return ""
        with self._locked():
            run, owner = self._read()
            if run and owner is not None and self._is_at_work(owner, run):
                return ""
            if run:
                self._write(run)
                return run
        if self._place:
            run = id_of_place(self._settings.project, self._place)
            if not os.path.isdir(run_directory(self._settings.dir, run)):  # else it ended well
                return run
        return ""

    def write(self, run: str) -> None:
        """The run is the one to continue, unless another is at work. Where the disk fails the next begins anew."""
        if not self._path:
            return
        with self._locked():
            other, owner = self._read()
            if other == run or owner is None or not self._is_at_work(owner, other):
                self._write(run)

    def _write(self, run: str) -> None:
        with contextlib.suppress(OSError):
            replace_file(self._path, b"\n".join((run.encode(), msgspec.json.encode(self._owner))))

    def clear(self, run: str) -> None:
        """The run ended well. Idempotent."""
        if self._path and self._read()[0] == run:
            with contextlib.suppress(OSError):
                os.unlink(self._path)

    def _is_at_work(self, owner: "_Owner", run: str) -> bool:
        """Whether another program records into it at this moment; of another host its files tell."""
        if self._has_ranks or owner.process == self._owner.process or (owner.job and owner.job == self._owner.job):
            return False
        if (alive := is_alive(owner.process)) is None:
            alive = used_at(run_directory(self._settings.dir, run)) > time.time() - _LATE_S
        return alive

    def _read(self) -> "tuple[str, _Owner | None]":
        try:
            with open(self._path, "rb") as file:
                run, _, owner = file.read(4096).partition(b"\n")
            return run.decode().strip(), msgspec.json.decode(owner, type=_Owner) if owner.strip() else None
        except (OSError, ValueError):
            return "", None

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        """Of two who are started at once, one reads what the other has written."""
        with contextlib.ExitStack() as held:
            with contextlib.suppress(OSError):
                make_private(os.path.dirname(self._path))
                file = held.enter_context(open(f"{self._path}.lock", "ab"))
                fcntl.flock(file, fcntl.LOCK_EX)
            yield


def used_at(directory: str) -> float:
    """When somebody last wrote to a file of a run; 0 where there is none."""
    with contextlib.suppress(OSError), os.scandir(directory) as found:
        return max((each.stat().st_mtime for each in found), default=0.0)
    return 0.0


def recall(directory: str, process: ProcessIdentity, *, launcher: str = "") -> Past:
    """Read the newest segment of each journal. Raises UsageError where a newer holter wrote the run.

    `launcher` is the journal of the `holter run` under which this process was started.
    """
    past, digests = Past(), _digests(directory)
    if not digests:
        return past
    from holter.journal.rewinding import fork_of, rewinds_of  # as below

    past.forked, since = fork_of(digests), max(rewinds_of(digests), default=0)
    for found in sorted(digests, key=lambda found: found.opened.at_ns):
        if found.opened.writer not in ("client", "worker", "launcher", "provisioner"):
            continue
        _add(past, found, process)
        past.has_history = past.has_history or found.journal != launcher
        if found.opened.attempt >= since:  # what was abandoned is not gone on from
            past.last |= found.last
            if found.highest_step is not None:
                past.next_step = max(past.next_step, found.highest_step + 1)
    return past


def _digests(directory: str) -> "list[Digest]":
    if not os.path.isdir(directory):
        return []
    from holter.journal.digest import digest  # milliseconds that only a run which goes on costs

    try:
        journals = list_segments(directory)
        return [found for journal, paths in journals.items() if (found := digest(journal, paths))]
    except NewerJournal as error:
        raise UsageError(f"can't continue the run in {directory}: {error}") from error
    except OSError:
        return []


def _add(past: Past, found: "Digest", process: ProcessIdentity) -> None:
    opened = found.opened
    if opened.attempt > past.attempts:
        past.attempts, past.is_alive, past.went_on = opened.attempt, False, None
    theirs = writer_of(opened)
    has_ended = any(type(record).__name__ == "Finished" for record in found.said)
    if opened.attempt == past.attempts and theirs != process and not has_ended and is_alive(theirs):
        past.is_alive = True
    # What the program calls the run counts more than what its launcher could know.
    if past.described is None or (past.described_by in ("launcher", "provisioner") and found.described):
        past.described, past.described_by = found.described, opened.writer
    past.config |= found.config or {}
    if opened.attempt == past.attempts:
        past.went_on = next((record for record in found.said if isinstance(record, WentOn)), past.went_on)
