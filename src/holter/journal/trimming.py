"""Gives back the space that a dead writer had reserved."""

import os

from holter.errors import JournalError
from holter.journal.reader import is_blank, scan


def trim(path: str) -> int:
    """Cut the blank end of a segment off; returns the bytes given back. Raises OSError.

    Only for a journal whose writer is dead: nobody truncates a file that somebody maps. A torn end stays, as evidence.
    """
    with open(path, "rb") as file:
        data = file.read()
    try:
        end = scan(data).end
    except JournalError:
        return 0
    if end == len(data) or not is_blank(data, end):
        return 0
    os.truncate(path, end)
    return len(data) - end
