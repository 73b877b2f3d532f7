"""`directory:PATH` keeps received journals and the books of sweeps below PATH, as the files that they are on a machine
that records."""

from collections.abc import Callable

from holter.storage.files.received import ReceivedRuns
from holter.storage.files.sweeps import DirectorySweeps


def open_journals(url: str, bucket: Callable[[], object]) -> ReceivedRuns:
    """What was received; it lies in files for years."""
    return ReceivedRuns(url.partition(":")[2])


def open_sweeps(url: str) -> DirectorySweeps:
    """The books of sweeps."""
    return DirectorySweeps(url.partition(":")[2])
