"""Where a new run goes, and how much of the disk it may take."""

import contextlib
import os
from collections.abc import Callable

from holter.journal.rundir import make_private, private_temporary, run_directory
from holter.recording.settings import Settings

# Of what a run's directory may take, so much may be console.
CONSOLE_SHARE = 4
LEAST_LIMIT = 1 << 20


def make_place(data: str, run: str, *, complain: Callable[[str, str], object]) -> str:
    """The run's directory, made where it is missing; a temporary one where it can't be. Raises OSError."""
    wanted = run_directory(data, run)
    try:
        make_private(wanted)
        if os.access(wanted, os.W_OK | os.X_OK):
            return wanted
        because = "it is not writable"
    except OSError as error:
        because = error.strerror or str(error)
    temporary = private_temporary()
    fallback = run_directory(temporary, run)
    make_private(fallback)
    look = f"`HOLTER_DIR={temporary} holter show {run}` shows it"
    complain("directory", f"can't record in {wanted} ({because}): this run goes to {fallback}; {look}")
    return fallback


def disk_limit(settings: Settings, directory: str) -> int:
    """What the directory may take; negative where nobody can tell what there is."""
    if settings.disk_limit >= 0:
        return settings.disk_limit
    with contextlib.suppress(OSError):
        space = os.statvfs(directory)
        # Of a disk that is full, the disk itself is to say so.
        return max(LEAST_LIMIT, int(space.f_bavail * space.f_frsize // 10))
    return -1


def console_limit(settings: Settings, limit: int) -> int:
    """What the console may take of it."""
    return min(settings.console_limit, limit // CONSOLE_SHARE) if limit >= 0 else settings.console_limit
