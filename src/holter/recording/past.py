"""What earlier attempts of a run left behind, for the one that continues it."""

import contextlib
import os
from typing import TYPE_CHECKING, Any

import msgspec

from holter.errors import NewerJournal, UsageError
from holter.journal.rundir import list_segments, make_private
from holter.model.records import Described
from holter.probes.identity import ProcessIdentity, is_alive, writer_of
from holter.recording.settings import Settings

if TYPE_CHECKING:
    from holter.journal.digest import Digest


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


class Bookmark:
    """Remembers in the data directory which run of a project has not ended well, for `resume="auto"`; else nothing."""

    def __init__(self, settings: Settings) -> None:
        name = "".join(letter if letter.isalnum() else f"%{ord(letter):x}" for letter in settings.project)[:200]
        self._path = os.path.join(settings.dir, "resume", name) if settings.resume == "auto" else ""

    def read(self) -> str:
        """The run to continue, empty where there is none."""
        try:
            with open(self._path, encoding="utf-8") as file:
                return file.read(128).strip()
        except OSError:
            return ""

    def write(self, run: str) -> None:
        """Where the disk does not take it, the next program begins anew."""
        if not self._path:
            return
        with contextlib.suppress(OSError):
            make_private(os.path.dirname(self._path))
            with open(os.open(self._path, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
                file.write(run)

    def clear(self) -> None:
        """The run ended well. Idempotent."""
        with contextlib.suppress(OSError):
            os.unlink(self._path)


def recall(directory: str, process: ProcessIdentity, *, launcher: str = "") -> Past:
    """Read the newest segment of each journal. Raises UsageError where a newer holter wrote the run.

    `launcher` is the journal of the `holter run` under which this process was started.
    """
    past = Past()
    for found in sorted(_digests(directory), key=lambda found: found.opened.at_ns):
        if found.opened.writer not in ("client", "worker", "launcher", "provisioner"):
            continue
        _add(past, found, process)
        past.has_history = past.has_history or found.journal != launcher
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
        past.attempts, past.is_alive = opened.attempt, False
    theirs = writer_of(opened)
    has_ended = any(type(record).__name__ == "Finished" for record in found.said)
    if opened.attempt == past.attempts and theirs != process and not has_ended and is_alive(theirs):
        past.is_alive = True
    # What the program calls the run counts more than what its launcher could know.
    if past.described is None or (past.described_by in ("launcher", "provisioner") and found.described):
        past.described, past.described_by = found.described, opened.writer
    past.config |= found.config or {}
    past.last |= found.last
    if found.highest_step is not None:
        past.next_step = max(past.next_step, found.highest_step + 1)
