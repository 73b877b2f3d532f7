"""A disk that fails for a while costs the sidecar nothing, and what it did not take is brought there later."""

import errno
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from holter.sidecar.syncing import Syncer


class Disk:
    """Notes what is synced; fails for the files of these names."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.synced: list[str] = []
        self.failing: set[str] = set()
        for name in ("fsync", "fdatasync"):
            monkeypatch.setattr(os, name, self._wrap(getattr(os, name)))

    def _wrap(self, real: Callable[[int], None]) -> Callable[[int], None]:
        def sync(fd: int) -> None:
            name = os.path.basename(os.readlink(f"/proc/self/fd/{fd}"))
            if name in self.failing:
                raise OSError(errno.EIO, os.strerror(errno.EIO))
            self.synced.append(name)

        return sync


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Disk:
    return Disk(monkeypatch)


@pytest.fixture
def syncer(tmp_path: Path, disk: Disk, monkeypatch: pytest.MonkeyPatch) -> Iterator[Syncer]:
    monkeypatch.setattr("holter.sidecar.syncing.EVERY_S", 3600)
    syncer = Syncer(str(tmp_path))
    yield syncer
    disk.failing.clear()
    syncer.close()


def lay_down(directory: Path, journal: str, number: int) -> str:
    name = f"{journal * 32}-{number:06d}.seg"
    (directory / name).write_bytes(b"x")
    return name


def open_files() -> int:
    return len(os.listdir("/proc/self/fd"))


def test_a_closed_segment_that_fails_again_and_again_costs_no_descriptors(
    tmp_path: Path, disk: Disk, syncer: Syncer
) -> None:
    closed = lay_down(tmp_path, "a", 1)
    os.utime(tmp_path / closed, ns=(1, 1))
    syncer.sync()
    lay_down(tmp_path, "a", 2)
    disk.failing = {closed}
    syncer.sync()
    before = open_files()
    for _ in range(5):
        syncer.sync()
    assert open_files() == before
    disk.failing.clear()
    syncer.sync()
    assert closed in disk.synced
    assert open_files() == before - 1


def test_a_directory_that_failed_is_synced_again(tmp_path: Path, disk: Disk, syncer: Syncer) -> None:
    lay_down(tmp_path, "a", 1)
    disk.failing = {tmp_path.name}
    syncer.sync()
    disk.failing.clear()
    syncer.sync()
    assert tmp_path.name in disk.synced


def test_one_file_that_fails_does_not_keep_the_others_from_the_disk(tmp_path: Path, disk: Disk, syncer: Syncer) -> None:
    failing, other = lay_down(tmp_path, "a", 1), lay_down(tmp_path, "b", 1)
    disk.failing = {failing}
    syncer.sync()
    assert other in disk.synced
