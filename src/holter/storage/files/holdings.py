"""What was received of a run so far, as a sender that comes back must know it."""

import contextlib
import os
from collections.abc import Iterator

from holter.errors import JournalError
from holter.journal.frame import HEADER_SIZE, decode_header
from holter.journal.rundir import is_journal_id, list_segments, segments_of
from holter.storage.journals import is_transcript_file


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


def read_range(directory: str, name: str, *, start: int, stop: int) -> bytes:
    """Bytes of a journal or text, not beyond its end; a lost segment is zeros. Raises OSError."""
    if not is_journal_id(name):
        with contextlib.suppress(FileNotFoundError):
            return _bytes(os.path.join(directory, name), start, stop)
        return b""
    try:
        segments = list(_segments(segments_of(directory, name)))
    except FileNotFoundError:
        return b""
    found = bytearray()
    for place, (path, base) in enumerate(segments):
        end = segments[place + 1][1] if place + 1 < len(segments) else stop
        at, until = start + len(found), min(end, stop)
        if at < until:
            found += bytes(max(0, min(base, until) - at))
            found += _bytes(path, start + len(found) - base, until - base)
    return bytes(found)


def _bytes(path: str, start: int, stop: int) -> bytes:
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        file.seek(start)
        return file.read(max(0, min(stop, size) - start))


def _segments(paths: list[str]) -> Iterator[tuple[str, int]]:
    for path in paths:
        with open(path, "rb") as file, contextlib.suppress(JournalError):
            yield path, decode_header(file.read(HEADER_SIZE)).base


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
