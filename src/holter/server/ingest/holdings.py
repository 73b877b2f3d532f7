"""What was received of a run so far, as a sender that comes back must know it."""

import os

from holter.errors import JournalError
from holter.journal.frame import HEADER_SIZE, decode_header
from holter.journal.rundir import list_segments
from holter.server.ingest.received import is_transcript_file


def journal_offsets(directory: str) -> dict[str, int]:
    """By journal, the offset up to which it is there; none for a run of which nothing is there. Raises OSError."""
    try:
        journals = list_segments(directory)
    except FileNotFoundError:
        return {}
    return {journal: offset for journal, paths in journals.items() if (offset := _offset(paths))}


def transcript_offsets(directory: str) -> dict[str, int]:
    """By file of the console, its size. Raises OSError."""
    try:
        with os.scandir(directory) as entries:
            return {entry.name: entry.stat().st_size for entry in entries if is_transcript_file(entry.name)}
    except FileNotFoundError:
        return {}


def _offset(paths: list[str]) -> int:
    for path in reversed(paths):
        with open(path, "rb") as file:
            data = file.read(HEADER_SIZE)
            size = os.fstat(file.fileno()).st_size
        try:
            return decode_header(data).base + size
        except JournalError:  # its first bytes did not reach the disk: they come again
            continue
    return 0
