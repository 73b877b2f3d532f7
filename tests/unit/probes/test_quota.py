"""Quotas as Linux answers of them, by its headers: no kernel that keeps them was at hand."""

import ctypes
import errno
import math
import os
import subprocess
import sys
from pathlib import Path

import pytest

from holter.model.quota import Quota
from holter.probes.live.disk import DiskProbe
from holter.probes.quota import GROUP, RECORD, USER, Quotas, find_mount, read_record
from holter.probes.sampler import Sampler
from tests.unit.probes.recordings import watch

MIB = 1 << 20
NOW_S = 1_800_000_000.0
NOBODY = 65534
NAN = float("nan")


def record(
    *, hard: int = 0, soft: int = 0, used: int = 0, until_s: float = 0, files: int = 0, used_files: int = 0
) -> bytes:
    """As Linux writes it: limits in KiB, use in bytes."""
    return RECORD.pack(hard // 1024, soft // 1024, used, files, 0, used_files, int(until_s), 0, 63)


@pytest.mark.parametrize(
    ("answer", "total", "free"),
    [
        (record(hard=50 * MIB, used=10 * MIB), 50 * MIB, 40 * MIB),
        (record(hard=50 * MIB, soft=40 * MIB, used=45 * MIB, until_s=NOW_S + 60), 50 * MIB, 5 * MIB),
        (record(hard=50 * MIB, soft=40 * MIB, used=45 * MIB, until_s=NOW_S - 60), 40 * MIB, 0),
        (record(soft=40 * MIB, used=45 * MIB, until_s=NOW_S + 60), 40 * MIB, 0),
    ],
    ids=["hard", "in the grace of the soft one", "after it", "soft alone"],
)
def test_what_is_left_is_up_to_the_limit_that_writing_fails_at(answer: bytes, total: int, free: int) -> None:
    quota = read_record(answer, now_s=NOW_S, path="/data")
    assert quota is not None
    assert (quota.total_bytes, quota.free_bytes) == (total, free)
    assert math.isnan(quota.free_inodes)


def test_files_may_be_limited_alone_and_no_limit_is_no_quota() -> None:
    quota = read_record(record(files=1000, used_files=990), now_s=NOW_S, path="/data", group="vision")
    assert quota is not None
    assert (quota.free_inodes, quota.name) == (10, "the quota of group vision on /data")
    assert math.isnan(quota.total_bytes)
    assert read_record(record(used=5 * MIB), now_s=NOW_S, path="/data") is None


class Kernel:
    """Answers as it is told, and counts."""

    def __init__(self, **answers: bytes | int) -> None:
        self.answers = answers
        self.asked: list[tuple[int, int]] = []

    def __call__(self, path: str, device: str, kind: int, number: int) -> bytes:
        self.asked.append((kind, number))
        answer = self.answers["group" if kind == GROUP else "user"]
        if isinstance(answer, int):
            raise OSError(answer, os.strerror(answer))
        return answer


REFUSALS = ["ENOSYS", "ENOTSUP", "ESRCH", "EPERM", "ENOTBLK", "ENODEV"]


@pytest.mark.parametrize("refusal", REFUSALS)
def test_who_is_refused_asks_no_more(refusal: str, tmp_path: Path) -> None:
    kernel = Kernel(user=getattr(errno, refusal), group=getattr(errno, refusal))
    quotas = Quotas(kernel, user=1000, group=100)
    assert [quotas.of(str(tmp_path)) for _ in range(3)] == [()] * 3
    assert kernel.asked == [(USER, 1000), (GROUP, 100)]


def test_who_has_written_nothing_yet_is_asked_for_again(tmp_path: Path) -> None:
    kernel = Kernel(user=errno.ENOENT, group=errno.EPERM)
    quotas = Quotas(kernel, user=1000, group=100, now_s=lambda: NOW_S)
    assert quotas.of(str(tmp_path)) == ()
    kernel.answers["user"] = record(hard=MIB)
    assert [each.free_bytes for each in quotas.of(str(tmp_path))] == [MIB]


def test_a_shared_directory_counts_for_its_own_group(tmp_path: Path) -> None:
    tmp_path.chmod(0o2775)
    kernel = Kernel(user=errno.EPERM, group=record(hard=MIB))
    os.chown(tmp_path, -1, group := os.getgroups()[-1] if os.geteuid() else 4242)
    tmp_path.chmod(0o2775)
    Quotas(kernel, user=1000, group=100).of(str(tmp_path))
    assert kernel.asked[-1] == (GROUP, group)


def test_the_superuser_has_none(tmp_path: Path) -> None:
    kernel = Kernel(user=record(hard=MIB), group=record(hard=MIB))
    (tmp_path / "self").mkdir()
    (tmp_path / "self/uid_map").write_text("         0          0 4294967295\n")
    (tmp_path / "self/mountinfo").write_text("")
    assert Quotas(kernel, user=0, group=0, proc=str(tmp_path)).of(str(tmp_path)) == ()
    (tmp_path / "self/uid_map").write_text("         0       1000          1\n")  # root of its container only
    assert len(Quotas(kernel, user=0, group=0, proc=str(tmp_path)).of(str(tmp_path))) == 1


def test_the_innermost_mount_is_named_also_with_blanks(tmp_path: Path) -> None:
    device = os.stat(tmp_path).st_dev
    number = f"{os.major(device)}:{os.minor(device)}"
    (tmp_path / "self").mkdir()
    below = os.path.realpath(tmp_path).replace(" ", "\\040")
    (tmp_path / "my data").mkdir()
    (tmp_path / "self/mountinfo").write_text(
        f"20 1 {number} / / rw - ext4 /dev/sda1 rw\n"
        f"21 1 0:99 / {below}/my\\040data rw - tmpfs tmpfs rw\n"
        f"22 1 {number} / {below}/my\\040data rw shared:1 - xfs /dev/sdb rw,usrquota\n"
    )
    found = find_mount(str(tmp_path / "my data"), device, proc=str(tmp_path))
    assert (found.path, found.device) == (f"{os.path.realpath(tmp_path)}/my data", "/dev/sdb")
    assert find_mount(str(tmp_path), device, proc=str(tmp_path)).path == "/"


def test_the_probe_tells_quotas_by_place_and_keeps_its_keys(tmp_path: Path) -> None:
    kernel = Kernel(user=record(hard=50 * MIB, used=MIB), group=errno.ESRCH)
    probe = DiskProbe(temporary=str(tmp_path), ask=Quotas(kernel, user=1000, group=100, now_s=lambda: NOW_S))
    keys = probe.sample(watch(os.getpid(), directory=str(tmp_path))).keys()
    assert probe.quotas["run"][0].free_bytes == 49 * MIB
    assert not any("quota" in key for key in keys)
    assert Sampler({"disk": probe}, tuple).quotas == probe.quotas


def test_this_kernel_is_asked_and_nothing_is_raised(tmp_path: Path) -> None:
    for path in (tmp_path, Path("/proc"), Path("/dev/shm"), tmp_path / "gone"):
        assert all(isinstance(each, Quota) for each in Quotas(user=NOBODY, group=NOBODY).of(str(path)))


def test_a_record_is_laid_out_as_linux_says(tmp_path: Path) -> None:
    if sys.platform != "linux":
        pytest.skip("not on this platform: it is not Linux")
    fields = "bhardlimit bsoftlimit curspace ihardlimit isoftlimit curinodes btime itime valid".split()
    sizes = ", ".join(f"offsetof(struct if_dqblk, dqb_{field})" for field in fields)
    program = tmp_path / "layout.c"
    program.write_text(
        "#include <stdio.h>\n#include <stddef.h>\n#include <linux/quota.h>\n"
        f"int main() {{ unsigned long all[] = {{{sizes}, sizeof(struct if_dqblk), QCMD(Q_GETQUOTA, GRPQUOTA)}};"
        ' for (int i = 0; i < 11; i++) printf("%lu ", all[i]); }\n'
    )
    subprocess.run(["gcc", "-w", "-o", tmp_path / "layout", program], check=True)
    *offsets, whole, command = map(int, subprocess.check_output([tmp_path / "layout"]).split())
    assert (offsets, whole) == ([8 * at for at in range(9)], RECORD.size)
    assert command & 0xFFFFFFFF == 0x80000701


Number = ctypes.c_long | ctypes.c_int | ctypes.c_uint
Buffer = ctypes.Array[ctypes.c_char]


class Library:
    """Stands in for the C library: of an old Linux, which has no `quotactl_fd`, or of a new one."""

    def __init__(self, *, is_old: bool) -> None:
        self.is_old = is_old
        self.asked: list[tuple[str, tuple[int, ...]]] = []

    def syscall(self, name: Number, file: int, command: Number, number: Number, buffer: Buffer) -> int:
        if self.is_old:
            ctypes.set_errno(errno.ENOSYS)
            return -1
        self.asked.append((os.readlink(f"/proc/self/fd/{file}"), (name.value, command.value, number.value)))
        buffer.raw = record(hard=MIB)
        return 0

    def quotactl(self, command: Number, device: bytes, number: Number, buffer: Buffer) -> int:
        self.asked.append((device.decode(), (command.value, number.value)))
        buffer.raw = record(hard=MIB)
        return 0


@pytest.mark.skipif(sys.platform != "linux", reason="not on this platform: it is not Linux")
@pytest.mark.parametrize("is_old", [False, True])
def test_linux_is_asked_by_the_directory_and_an_old_one_by_the_device(
    is_old: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = Library(is_old=is_old)
    monkeypatch.setattr(ctypes, "CDLL", lambda name, use_errno: library)
    (tmp_path / "self").mkdir()
    device = os.stat(tmp_path).st_dev
    mount = f"22 1 {os.major(device)}:{os.minor(device)} / / rw - ext4 {tmp_path}/self rw\n"
    (tmp_path / "self/mountinfo").write_text(mount)
    quotas = Quotas(user=1000, group=0, now_s=lambda: NOW_S, proc=str(tmp_path))
    assert [each.free_bytes for each in quotas.of(str(tmp_path))] == [MIB]
    command = ctypes.c_int(0x80000700).value
    by_device, by_directory = (f"{tmp_path}/self", (command, 1000)), (str(tmp_path), (443, command, 1000))
    assert library.asked == [by_device if is_old else by_directory]
