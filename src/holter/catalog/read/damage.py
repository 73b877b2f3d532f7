"""Finds the bytes of a run that can't be read any more."""

import os
import zlib
from collections.abc import Iterator

import msgspec

from holter.catalog.read.loaded_run import LoadedRun
from holter.errors import JournalError
from holter.journal.digest import Digest
from holter.journal.frame import RESIDUE
from holter.journal.reader import scan
from holter.journal.rundir import list_segments
from holter.model.state import RUNNING
from holter.probes.identity import is_alive, writer_of


class Damage(msgspec.Struct, frozen=True, kw_only=True):
    """One unreadable place. A torn one is the record that a process was writing when it died."""

    file: str
    bytes: int
    is_torn: bool = False
    because: str


def find_damage(loaded: LoadedRun) -> list[Damage]:
    """Check every byte of the run. The torn end of a journal whose writer lives is no damage: it is not yet written.

    Raises NewerJournal, OSError.
    """
    digests = {each.journal: each for each in loaded.digests}
    is_running = loaded.outcome.state == RUNNING
    found: list[Damage] = []
    for journal, paths in list_segments(loaded.row.directory).items():
        found += _missing(paths)
        for path in paths:
            is_open = path == paths[-1] and _may_be_alive(digests.get(journal), is_running=is_running)
            found += [each for each in _damage_of(path) if not (each.is_torn and is_open)]
    return found


def _may_be_alive(writer: Digest | None, *, is_running: bool) -> bool:
    alive = is_alive(writer_of(writer.opened)) if writer else None
    return is_running if alive is None else alive


def _missing(paths: list[str]) -> Iterator[Damage]:
    numbers = {int(path.rpartition("-")[2].partition(".")[0]): path for path in paths}
    for number in range(1, max(numbers)):
        if number not in numbers:
            yield Damage(file=_name(paths[-1]), bytes=0, because=f"segment {number} of this journal is missing")


def _damage_of(path: str) -> Iterator[Damage]:
    with open(path, "rb") as file:
        data = file.read()
    # The checksum of whole records, header included, is always the same number; an empty file was never begun.
    if not data.strip(b"\0") or zlib.crc32(data, RESIDUE) == RESIDUE:
        return
    try:
        skipped = scan(data).skipped
    except JournalError as error:
        yield Damage(file=_name(path), bytes=len(data), because=str(error))
        return
    for each in skipped:
        because = "it was being written when the process died" if each.torn else "its checksum does not match"
        yield Damage(file=_name(path), bytes=each.stop - each.start, is_torn=each.torn, because=because)


def _name(path: str) -> str:
    return os.path.basename(path)
