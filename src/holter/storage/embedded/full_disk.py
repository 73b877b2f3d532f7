"""What is said where a disk takes no more of a file."""

import contextlib
import errno
from collections.abc import Iterator

from holter.errors import StorageFull

_FULL = (errno.ENOSPC, errno.EDQUOT)


@contextlib.contextmanager
def full_disk_told(place: str) -> Iterator[None]:
    """A block that writes below a place. Raises StorageFull for a full disk, else what the block raises."""
    try:
        yield
    except OSError as error:
        if error.errno in _FULL:
            raise StorageFull(f"{place} can't be written ({error.strerror}): make room on its disk") from error
        raise
