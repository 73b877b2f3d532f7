"""Reads the file systems around a program: which of them was full, and whether the exception was about that one."""

from holter.diagnosis.phrases.tags import tags_in
from holter.model.evidence import Caught, Disk, Evidence
from holter.model.records import Raised

FULL_BYTES = 4 * 2**20
FULL_SHARE = 0.001
"""Less is as good as nothing: file systems keep blocks back, and a failed write gives some up again."""
SHARED_MEMORY = "shared memory"
PAGE = 4096


def disks(evidence: Evidence) -> tuple[Disk, ...]:
    """The file systems that somebody looked at; none where nobody did."""
    return (evidence.surroundings.disks if evidence.surroundings else None) or ()


def is_full(disk: Disk) -> bool:
    """No room for a file's bytes."""
    if disk.free_bytes is None:
        return False
    return disk.free_bytes < min(FULL_BYTES, max(FULL_SHARE * (disk.total_bytes or 0), 64 * 1024) * 8)


def is_out_of_inodes(disk: Disk) -> bool:
    """No room for another file; a file system that does not count inodes has a total of 0, or says nothing."""
    return disk.free_inodes is not None and disk.total_inodes != 0 and disk.free_inodes <= 0


def full_disk(evidence: Evidence, path: str = "", *, wanted_bytes: int = 0) -> Disk | None:
    """A file system without room, or without that much; that of `path` first, never the shared memory."""
    full = [each for each in disks(evidence) if not is_shared(each) and has_no_room(each, wanted_bytes)]
    own = [each for each in full if each.what == "error" or (path and path.startswith(each.path))]
    return next(iter([*own, *full]), None)


def has_no_room(disk: Disk, wanted_bytes: int = 0) -> bool:
    """For so many bytes, for any at all, or for another file."""
    is_too_small = disk.free_bytes is not None and disk.free_bytes < wanted_bytes
    return is_too_small or is_full(disk) or is_out_of_inodes(disk)


def mapped_disk(evidence: Evidence, path: str) -> Disk | None:
    """The file system of a mapped file, where somebody looked at it right after the fault."""
    return next((each for each in disks(evidence) if each.what == "mapped file" and each.path == path), None)


def is_cut(disk: Disk, caught: Caught) -> bool | None:
    """Whether the mapped file had become shorter than the place of the fault; None where nobody can tell."""
    parts = caught.mapping.split()
    if disk.file_bytes is None or len(parts) < 3:
        return None
    try:
        start, offset = int(parts[0].partition("-")[0], 16), int(parts[2], 16)
    except ValueError:
        return None
    return caught.address - start + offset >= -(-disk.file_bytes // PAGE) * PAGE


def shared_memory(evidence: Evidence) -> Disk | None:
    """The file system of /dev/shm, where somebody looked."""
    return next((each for each in disks(evidence) if is_shared(each)), None)


def is_shared(disk: Disk) -> bool:
    """Whether this is the shared memory, and no disk."""
    return disk.what == SHARED_MEMORY or disk.path.startswith("/dev/shm")


def path_of(raised: Raised) -> str:
    """The file that the exception names; empty where it names none."""
    found = tags_in(raised.message).get("path")
    return next(filter(None, found.groups()), "") if found else ""
