"""Gives back the space that dead processes had reserved in a run's directory."""

from holter.journal.digest import read_opened
from holter.journal.rundir import list_segments
from holter.journal.trimming import trim
from holter.probes.identity import is_alive, writer_of


def trim_the_dead(directory: str) -> None:
    """Trim every journal whose writer is dead for certain. A file that can't be read can wait."""
    try:
        journals = list_segments(directory).values()
    except OSError:
        return
    for paths in journals:
        try:
            opened = read_opened(paths[-1])
            if opened is not None and is_alive(writer_of(opened)) is False:
                trim(paths[-1])
        except OSError:
            continue
