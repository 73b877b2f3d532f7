"""Where a new run goes, and how much of the disk it may take."""

import contextlib
import os
from collections.abc import Callable

from holter.journal.rundir import make_private, private_temporary, run_directory
from holter.recording.settings import Settings

# Of what a run's directory may take, so much may be console.
CONSOLE_SHARE = 4
LEAST_LIMIT = 1 << 20


def make_place(data: str, run: str, *, complain: Callable[[str, str], object], elsewhere: str = "") -> str:
    """The run's directory, made where it is missing; a temporary one where it can't be. Raises OSError.

    Args:
        elsewhere: the directory under which somebody wants this one run; then a link to it is among the others.
    """
    wanted = run_directory(elsewhere or data, run)
    try:
        if elsewhere:
            wanted = _linked(run_directory(data, run), wanted, complain=complain)
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


def _linked(usual: str, wanted: str, *, complain: Callable[[str, str], object]) -> str:
    """Where the run is to be: where it has begun already, else where it is wanted, with a link from its usual place."""
    if os.path.isdir(usual):
        return os.path.realpath(usual) if os.path.islink(usual) else usual
    make_private(wanted)
    try:
        make_private(os.path.dirname(usual))
        os.symlink(wanted, usual)
    except OSError as error:
        if not os.path.isdir(usual):  # another rank was quicker
            because = error.strerror or str(error)
            look = f"`HOLTER_DIR={os.path.dirname(os.path.dirname(wanted))} holter show {os.path.basename(wanted)}`"
            complain("place", f"this run can't be listed in {os.path.dirname(usual)} ({because}); {look} shows it")
    return wanted


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
