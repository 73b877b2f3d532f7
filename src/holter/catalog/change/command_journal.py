"""Writes down what a command of `holter` found out about a run, in a journal of its own."""

import os
import time
from collections.abc import Iterable, Iterator, Sequence

from holter.errors import NotKept
from holter.journal.digest import Digest, read_opened
from holter.journal.frame import encode_record
from holter.journal.rundir import list_segments
from holter.journal.writer import JournalWriter
from holter.model.clock import Clock
from holter.model.record import Record
from holter.model.records import Opened
from holter.probes.identity import this_process


def may_write(directory: str) -> bool:
    """Whether what we add is the owner's own: files of root's would be closed to whom the run belongs."""
    try:
        return os.stat(directory).st_uid == os.geteuid() and os.access(directory, os.W_OK)
    except OSError:
        return False


def write_down(directory: str, records: Iterable[Record], *, opened: Opened) -> bool:
    """Keep these sentences under who says them; false where that was not possible."""
    journal = JournalWriter(directory, lambda: _prologue(opened), clock=Clock())
    try:
        for record in records:
            journal.record(record)
    except (NotKept, OSError):
        return False
    finally:
        journal.close()
    return True


def newest_word_ns(directory: str) -> int:
    """When a person or a command last added something to a run, as far as it lies here; 0 where nobody has."""
    opened = (read_opened(paths[0]) for paths in list_segments(directory).values())
    return max((each.at_ns for each in opened if each is not None and each.writer == "command"), default=0)


def in_memory(opened: Opened, records: Sequence[Record]) -> Digest:
    """The same as if it had been written and read again."""
    return Digest("", opened, said=list(records))


def as_command(run: str, attempt: int) -> Opened:
    """This process, as the writer of such a journal."""
    return this_process().opens(run, "command", at_ns=time.time_ns(), attempt=attempt)


def _prologue(opened: Opened) -> Iterator[bytes]:
    yield encode_record(opened)
