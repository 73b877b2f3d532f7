"""Removes runs so that an interrupted removal leaves none half there: out of sight first, deleted then."""

import contextlib
import os
import shutil
import time

from holter.catalog.change.removal import Candidate
from holter.journal.rundir import run_directory
from holter.model.run_row import RunRow

# No run has a name that begins so. Beside the runs: on the same disk, and a full one needs no room for a folder.
TRASH = ".trash"
_KEPT = f"{TRASH}-kept-"
KEPT_S = 600.0
"""So long a run that was hidden can be had back."""


class Trash:
    """Only what was hidden comes back from here. Whoever is interrupted leaves the rest to the next one."""

    def __init__(self, data: str) -> None:
        self._data = data

    def remove(self, run: str) -> None:
        """Remove a run; once this has begun, no command sees it any more. Raises OSError."""
        hidden = run_directory(self._data, f"{TRASH}-{time.time_ns()}-{run}")
        os.rename(run_directory(self._data, run), hidden)
        with contextlib.suppress(FileNotFoundError):  # somebody else empties the trash at the same time
            _delete(hidden)

    def hide(self, run: str) -> None:
        """Remove a run so that `restore` brings it back, as long as nobody has emptied this. Raises OSError."""
        os.rename(run_directory(self._data, run), run_directory(self._data, f"{_KEPT}{time.time_ns()}-{run}"))

    def restore(self, run: str) -> bool:
        """Bring back a run that was hidden; False where it is gone for good. Raises OSError."""
        runs = os.path.join(self._data, "runs")
        hidden = [
            name for name in os.listdir(runs) if _is_kept(name) and name.removeprefix(_KEPT).split("-", 1)[1] == run
        ]
        if not hidden:
            return False
        with contextlib.suppress(FileNotFoundError):  # somebody else was quicker
            os.rename(os.path.join(runs, max(hidden)), run_directory(self._data, run))
        return os.path.isdir(run_directory(self._data, run))

    @property
    def keeps_some(self) -> bool:
        """Whether a run that was hidden can still be had back."""
        return any(map(_is_kept, self._names()))

    @property
    def is_empty(self) -> bool:
        """Whether nothing at all lies here."""
        return not any(name.startswith(TRASH) for name in self._names())

    def _names(self) -> list[str]:
        try:
            return os.listdir(os.path.join(self._data, "runs"))
        except OSError:
            return []

    def empty(self) -> None:
        """Delete what an interrupted removal left, and what was hidden long ago; what can't be deleted stays."""
        runs = os.path.join(self._data, "runs")
        with contextlib.suppress(FileNotFoundError):
            for name in os.listdir(runs):
                if name.startswith(TRASH) and not _is_kept(name):
                    with contextlib.suppress(OSError):
                        _delete(os.path.join(runs, name))


def _is_kept(name: str) -> bool:
    hidden_ns = name.removeprefix(_KEPT).split("-", 1)[0]
    return name.startswith(_KEPT) and hidden_ns.isdigit() and time.time_ns() - int(hidden_ns) < KEPT_S * 1e9


def _delete(directory: str) -> None:
    """A run that lies elsewhere goes there, and the link to it last."""
    if not os.path.islink(directory):
        shutil.rmtree(directory)
        return
    with contextlib.suppress(FileNotFoundError):
        shutil.rmtree(os.path.realpath(directory))
    os.unlink(directory)


def is_placed(directory: str) -> bool:
    """Whether it is a link to the run itself, as `init(dir=...)` makes it, and not to some other place."""
    if not os.path.islink(directory):
        return False
    target = os.readlink(directory)
    name = os.path.basename(directory)
    return os.path.isabs(target) and target == run_directory(os.path.dirname(os.path.dirname(target)), name)


def weigh(row: RunRow, *, is_settled: bool) -> Candidate:
    """Look at a run's directory: how large it is and when it last changed. Raises OSError."""
    changed, total = [os.stat(row.directory).st_mtime], 0
    for folder, _, names in os.walk(row.directory):
        for name in names:
            found = os.lstat(os.path.join(folder, name))
            total += found.st_size
            changed.append(found.st_mtime)
    return Candidate(
        row=row,
        bytes=total,
        touched_at=max(changed),
        is_settled=is_settled,
        is_link=os.path.islink(row.directory) and not is_placed(row.directory),
    )
