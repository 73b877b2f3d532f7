"""The exit status of a process that is not our child: from its pidfd once it is reaped, from /proc until then."""

import os
import re
import struct

import msgspec

from holter.probes.procfs import PROC, read_file, read_stat

# struct pidfd_info of Linux 6.15: mask, cgroup id, eleven ids, exit code.
PIDFD_INFO = struct.Struct("=QQ11Ii")
PIDFD_INFO_EXIT = 1 << 3
PIDFD_GET_INFO = (3 << 30) | (PIDFD_INFO.size << 16) | (0xFF << 8) | 11


class ExitStatus(msgspec.Struct, frozen=True):
    """How a process ended and how that was learnt."""

    status: int
    """A wait-status word: `os.waitstatus_to_exitcode`, `os.WCOREDUMP` and their like apply."""
    source: str
    """`pidfd-info`, `zombie-stat` or `connector`."""


def read_pidfd_info(pidfd: int) -> ExitStatus | None:
    """Return what Linux keeps with a pidfd after somebody has waited for the process (6.15 and later)."""
    if pidfd < 0:
        return None
    import fcntl

    info = bytearray(PIDFD_INFO.size)
    PIDFD_INFO.pack_into(info, 0, PIDFD_INFO_EXIT, *[0] * 13)
    try:
        fcntl.ioctl(pidfd, PIDFD_GET_INFO, info)
    except OSError:
        # An older kernel, a process reaped before we asked such a kernel, or one of another pid namespace.
        return None
    fields = PIDFD_INFO.unpack(info)
    return ExitStatus(status=fields[-1], source="pidfd-info") if fields[0] & PIDFD_INFO_EXIT else None


def read_zombie(pid: int, started: int, *, proc: str = PROC) -> ExitStatus | None:
    """Return what /proc says of a dead process that nobody has waited for yet."""
    stat = read_stat(pid, proc)
    if stat is None or not stat.is_dead or stat.started != started:
        return None
    if stat.exit_code == 0 and not _may_see(pid, proc):
        return None
    return ExitStatus(status=stat.exit_code, source="zombie-stat")


def _may_see(pid: int, proc: str) -> bool:
    """Return whether a 0 in the process's stat is its exit code, and not Linux's way to refuse it."""
    if os.geteuid() == 0:
        return True
    status = read_file(f"{proc}/{pid}/status") or b""
    owners = {line[:4]: set(line[5:].split()[:3]) for line in status.splitlines()}
    return owners.get(b"Uid:") == {b"%d" % os.geteuid()} and owners.get(b"Gid:") == {b"%d" % os.getegid()}


def kernel_version(release: str) -> tuple[int, int]:
    """Return the first two numbers of a kernel's release, such as 6.1.0-13-amd64; zeros where it has none."""
    found = re.match(r"(\d+)\.(\d+)", release)
    return (int(found[1]), int(found[2])) if found else (0, 0)
