"""Where things lie: the data directory, a run's directory, the segments in it."""

import errno
import os
import re

_RUN_ID = r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}"
_JOURNAL_CHARACTERS = 32
_SEGMENT_CHARACTERS = len("-000000.seg") + _JOURNAL_CHARACTERS
_HEXADECIMAL = frozenset("0123456789abcdef")


def data_directory(environ: "os._Environ[str] | dict[str, str]") -> str:
    """The one local directory under which everything lies; `HOLTER_DIR` moves it."""
    if chosen := environ.get("HOLTER_DIR"):
        return os.path.abspath(os.path.expanduser(chosen))
    base = environ.get("XDG_DATA_HOME") or os.path.expanduser("~/.local/share")
    return os.path.join(base, "holter")


def run_directory(data: str, run: str) -> str:
    """Where the journals of a run lie."""
    return os.path.join(data, "runs", run)


def is_run_id(text: str) -> bool:
    """Whether it can name a run's directory, and nothing else."""
    return re.fullmatch(_RUN_ID, text) is not None


def is_journal_id(text: str) -> bool:
    """Whether it is a journal's uuid as it stands in the names of its segments."""
    return len(text) == _JOURNAL_CHARACTERS and _HEXADECIMAL.issuperset(text)


def sync_directory(directory: str) -> None:
    """Make the names in a directory outlive the machine's death. Raises OSError."""
    fd = os.open(directory, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    except OSError as error:
        if error.errno != errno.EINVAL:  # a file system that keeps names by itself
            raise
    finally:
        os.close(fd)


def make_private(directory: str) -> None:
    """Create a directory that only its owner may enter, and such parents where they are missing. Raises OSError.

    Idempotent; a directory that exists keeps the permissions that somebody gave it.
    """
    if os.path.isdir(directory):
        return
    if (parent := os.path.dirname(directory)) != directory:
        make_private(parent)
    try:
        os.mkdir(directory, 0o700)
    except FileExistsError:
        if not os.path.isdir(directory):
            raise


def private_temporary() -> str:
    """A new directory for a run that could not be kept where it should be."""
    import tempfile  # five milliseconds that only a broken home directory costs

    return tempfile.mkdtemp(prefix="holter-")


def segment_path(run_dir: str, journal: str, *, number: int) -> str:
    """The file of a segment: 32 hexadecimal digits of the journal's uuid, and the segment's number."""
    return os.path.join(run_dir, f"{journal}-{number:06d}.seg")


def list_segments(run_dir: str) -> dict[str, list[str]]:
    """The paths of each journal's segments in the order in which they were written, by journal."""
    journals: dict[str, list[str]] = {}
    for name in sorted(os.listdir(run_dir)):
        if _is_segment(name):
            journals.setdefault(name[:_JOURNAL_CHARACTERS], []).append(os.path.join(run_dir, name))
    return journals


def segments_of(run_dir: str, journal: str) -> list[str]:
    """Those of one journal."""
    return list_segments(run_dir).get(journal, [])


def _is_segment(name: str) -> bool:
    """Whether it is a segment's; without a pattern, which would have to be compiled at each start."""
    if len(name) != _SEGMENT_CHARACTERS or not name.endswith(".seg"):
        return False
    journal, dash, number = name.removesuffix(".seg").partition("-")
    return bool(dash) and is_journal_id(journal) and number.isdecimal()


def used_bytes(run_dir: str) -> int:
    """What a run's directory takes on the disk, its reserved space included."""
    total = 0
    for folder, _, names in os.walk(run_dir):
        for name in names:
            try:
                total += os.lstat(os.path.join(folder, name)).st_size
            except FileNotFoundError:  # removed meanwhile
                continue
    return total
