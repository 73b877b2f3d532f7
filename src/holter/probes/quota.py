"""What the user who trains may still keep on a file system: quotas of users and groups, as Linux enforces them.

Quotas of projects (of XFS and ext4) need nobody: statvfs counts them already. Those of network file systems are kept by
their servers, which other programs ask (`quota -s`, `lfs quota`).
"""

import errno
import os
import struct
import sys
import time
from collections.abc import Callable
from typing import Any

import msgspec

from holter.model.quota import NAN, Quota
from holter.probes.procfs import PROC, read_file

USER, GROUP = 0, 1
# The limits and use of <linux/quota.h>'s `struct if_dqblk`: limits of space count 1 KiB, what is used bytes.
RECORD = struct.Struct("=8QI4x")
BLOCK = 1024
# It has a call, and no answer, today: a user without files has no record yet, a file system may be busy.
PASSING = (errno.ENOENT, errno.EINTR, errno.EAGAIN, errno.EIO)
_GET_QUOTA = 0x800007 << 8
# The same on all processors but Alpha; since Linux 5.14. It needs no block device, which containers do not have.
_QUOTACTL_FD = 443

Ask = Callable[[str, str, int, int], bytes]
"""A path, the device that its file system lies on, the kind, and the number of the user or group."""


class _Mount(msgspec.Struct, frozen=True):
    path: str
    device: str


class Quotas:
    """Asks for each path, until Linux says that there is no quota. One thread."""

    def __init__(
        self,
        ask: Ask | None = None,
        *,
        user: int | None = None,
        group: int | None = None,
        now_s: Callable[[], float] = time.time,
        proc: str = PROC,
    ) -> None:
        self._ask = ask or (_ask_linux() if sys.platform == "linux" else None)
        self._user = user if user is not None else os.getuid() if hasattr(os, "getuid") else 0
        self._group = group
        self._now_s = now_s
        self._proc = proc
        self._mounts: dict[int, _Mount] = {}
        self._none: set[tuple[int, int]] = set()
        """The file systems, and kinds of quota, that were given up."""

    def of(self, path: str) -> tuple[Quota, ...]:
        """The quotas that what this user writes below a directory counts for; never raises OSError."""
        try:
            place = os.stat(path)
        except OSError:
            return ()
        found = [self._read(path, place, kind) for kind in (USER, GROUP) if (place.st_dev, kind) not in self._none]
        return tuple(each for each in found if each is not None)

    def _read(self, path: str, place: os.stat_result, kind: int) -> Quota | None:
        key = (place.st_dev, kind)
        number = self._user if kind == USER else self._group_of(place)
        # The superuser's own are not enforced: XFS keeps there what holds for users that have none.
        if self._ask is None or (number == 0 and (kind == GROUP or _is_superuser(self._proc))):
            if kind == USER or self._ask is None:
                self._none.add(key)
            return None
        mount = self._mounts.get(place.st_dev)
        if mount is None:
            mount = self._mounts[place.st_dev] = find_mount(path, place.st_dev, proc=self._proc)
        try:
            record = self._ask(path, mount.device, kind, number)
        except OSError as error:
            if error.errno not in PASSING:
                self._none.add(key)
            return None
        return read_record(
            record, path=mount.path, group=_group_name(number) if kind == GROUP else "", now_s=self._now_s()
        )

    def _group_of(self, place: os.stat_result) -> int:
        """Of what is written there: a shared directory hands on its own."""
        if place.st_mode & 0o2000:
            return place.st_gid
        return os.getegid() if self._group is None else self._group


def read_record(record: bytes, *, now_s: float, path: str, group: str = "") -> Quota | None:
    """What Linux answered, None where it limits nothing."""
    blocks, soft_blocks, used, files, soft_files, used_files, until_s, files_until_s, _ = RECORD.unpack(record)
    total = _limit(blocks * BLOCK, soft_blocks * BLOCK, used, is_over=0 < until_s <= now_s)
    most_files = _limit(files, soft_files, used_files, is_over=0 < files_until_s <= now_s)
    if total != total and most_files != most_files:
        return None
    return Quota(
        path=path,
        group=group,
        total_bytes=total,
        free_bytes=max(0.0, total - used) if total == total else NAN,
        free_inodes=max(0.0, most_files - used_files) if most_files == most_files else NAN,
    )


def _limit(hard: int, soft: int, used: int, *, is_over: bool) -> float:
    """The one that writing fails at: the soft one from the end of its grace on, and where there is no other."""
    if soft and (not hard or (is_over and used >= soft)):
        return float(soft)
    return float(hard) if hard else NAN


def find_mount(path: str, device: int, *, proc: str = PROC) -> _Mount:
    """Where the file system of a path is mounted, and its block device; the path itself where nobody can say."""
    real, wanted = os.path.realpath(path), f"{os.major(device)}:{os.minor(device)}"
    found = []
    for line in (read_file(f"{proc}/self/mountinfo") or b"").decode(errors="surrogateescape").splitlines():
        before, _, after = line.partition(" - ")
        words, source = before.split(" "), after.split(" ")
        if len(words) > 4 and len(source) > 1 and words[2] == wanted:
            found.append(_Mount(_plain(words[4]), _plain(source[1])))
    above = [each for each in found if f"{real}/".startswith(f"{each.path.rstrip('/')}/")]
    return max(above or found, key=lambda each: len(each.path), default=_Mount(real, ""))


def _plain(word: str) -> str:
    """Linux writes blanks as `\\040`."""
    for letter in "\040\011\012\134":
        word = word.replace(f"\\{ord(letter):03o}", letter)
    return word


def _is_superuser(proc: str) -> bool:
    """False for who is 0 only within a user namespace, as in a container without root: outside it has a quota."""
    return (read_file(f"{proc}/self/uid_map") or b"0 0").split()[:2] == [b"0", b"0"]


def _group_name(number: int) -> str:
    try:
        import grp  # not on Windows; reads a file, and only where there is a quota

        return grp.getgrgid(number).gr_name
    except (ImportError, KeyError, OSError):
        return str(number)


def _ask_linux() -> Ask:
    """The system calls; they raise OSError."""
    library: Any = None

    def ask(path: str, device: str, kind: int, number: int, /) -> bytes:
        nonlocal library
        import ctypes  # only who watches a training pays for it

        library = library or ctypes.CDLL(None, use_errno=True)
        record = ctypes.create_string_buffer(RECORD.size)
        command = ctypes.c_int(_GET_QUOTA | kind)
        there = os.open(path, os.O_PATH | os.O_CLOEXEC)
        try:
            if not library.syscall(ctypes.c_long(_QUOTACTL_FD), there, command, ctypes.c_uint(number), record):
                return record.raw
        finally:
            os.close(there)
        if (trouble := ctypes.get_errno()) != errno.ENOSYS:
            raise OSError(trouble, os.strerror(trouble))
        if not os.path.exists(device):  # of a network, or outside of our container
            raise OSError(errno.ENOTBLK, os.strerror(errno.ENOTBLK))
        if library.quotactl(command, os.fsencode(device), ctypes.c_int(number), record):
            raise OSError(trouble := ctypes.get_errno(), os.strerror(trouble))
        return record.raw

    return ask
