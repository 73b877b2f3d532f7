"""Tells whether a reserved file on this file system may be written through a mapping."""

import os

# Where a reservation is real: the blocks exist, so that a store into the mapping can't meet a full disk (SIGBUS).
# Not here on purpose: network and user-space file systems (nfs, cifs, 9p, fuse, lustre), those that copy on
# write (btrfs, zfs, bcachefs), where reserved space can be taken again, and overlay, which may be any of them.
_RESERVES = frozenset({"ext2", "ext3", "ext4", "xfs", "tmpfs"})


def keeps_reservations(directory: str, mountinfo: str = "/proc/self/mountinfo") -> bool:
    """False where it is not known: the caller then uses plain writes, which are always safe."""
    return file_system(directory, mountinfo) in _RESERVES


def file_system(directory: str, mountinfo: str = "/proc/self/mountinfo") -> str:
    """The type of the file system of a directory, empty where nobody can say."""
    try:
        device = os.stat(directory).st_dev
        with open(mountinfo, encoding="utf-8", errors="replace") as mounts:
            lines = mounts.read().splitlines()
    except OSError:
        return ""
    wanted = f"{os.major(device)}:{os.minor(device)}"
    for line in lines:
        before, _, after = line.partition(" - ")
        if before.split(" ", 3)[2] == wanted:
            return after.split(" ", 1)[0]
    return ""
