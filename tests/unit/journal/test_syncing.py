"""What reaches the disk itself, and what is said and tried again where it did not."""

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from holter.errors import NotSynced
from tests.unit.journal.recording import Recording, read_rows
from tests.unit.journal.test_segments import fill


class Disk:
    """Notes by inode what was synced since the last failure; fails once for each error that was put into it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.synced: set[int] = set()
        self.failures: list[int] = []
        for name in ("fsync", "fdatasync"):
            monkeypatch.setattr(os, name, self._wrap(getattr(os, name)))

    def _wrap(self, real: Callable[[int], None]) -> Callable[[int], None]:
        def sync(fd: int) -> None:
            if self.failures:
                self.synced.clear()
                raise OSError(number := self.failures.pop(0), os.strerror(number))
            self.synced.add(os.fstat(fd).st_ino)

        return sync


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Disk:
    return Disk(monkeypatch)


def inodes(recording: Recording) -> list[int]:
    return [os.stat(path).st_ino for path in recording.paths()]


def test_what_a_disk_did_not_take_is_said_and_brought_there_the_next_time(
    tmp_path: Path, disk: Disk, kind_of_segment: str
) -> None:
    recording = Recording(tmp_path)
    fill(recording, 100)
    [failed] = inodes(recording)
    disk.failures = [errno.EIO]
    with pytest.raises(NotSynced, match=f"Input/output error.*{tmp_path}"):
        recording.journal.sync()
    fill(recording, 100)
    recording.journal.sync()
    # A kernel calls the next sync of the same file good, whatever became of it: only another one is proof.
    assert failed not in inodes(recording)
    assert disk.synced >= {*inodes(recording), os.stat(tmp_path).st_ino}
    assert len(read_rows(*recording.closed())) == 200


def test_an_earlier_segment_that_failed_is_not_forgotten(tmp_path: Path, disk: Disk) -> None:
    recording = Recording(tmp_path)
    fill(recording, 10_000)
    assert len(recording.paths()) > 1
    disk.failures = [errno.EIO]
    with pytest.raises(NotSynced):
        recording.journal.sync()
    recording.journal.sync()
    assert disk.synced >= {*inodes(recording)}
    assert len(read_rows(*recording.closed())) == 10_000


def test_a_disk_that_goes_on_failing_takes_no_more_room_with_each_try(tmp_path: Path, disk: Disk) -> None:
    recording = Recording(tmp_path)
    fill(recording, 100)
    disk.failures = [errno.EIO] * 50
    for _ in range(50):
        with pytest.raises(NotSynced):
            recording.journal.sync()
    assert len(os.listdir(tmp_path)) == 2
    recording.journal.sync()
    assert disk.synced >= {*inodes(recording)}
    assert len(read_rows(*recording.closed())) == 100


def test_rows_that_the_kernel_dropped_after_a_failure_are_not_called_safe(tmp_path: Path, disk: Disk) -> None:
    recording = Recording(tmp_path)
    fill(recording, 100)
    [path] = recording.paths()
    disk.failures = [errno.EIO]
    with pytest.raises(NotSynced):
        recording.journal.sync()
    with open(path, "r+b") as file:  # as a page that was dropped reads
        file.seek(1000)
        file.write(bytes(500))
    for _ in range(2):
        with pytest.raises(NotSynced, match="a part of it is lost"):
            recording.journal.sync()
    recording.journal.close()


def test_records_that_were_lost_are_said_also_where_a_failed_sync_began_the_next_segment(
    tmp_path: Path, disk: Disk, monkeypatch: pytest.MonkeyPatch
) -> None:
    recording = Recording(tmp_path)
    fill(recording, 100)
    disk.failures = [errno.EIO]
    with pytest.raises(NotSynced):
        recording.journal.sync()
    recording.journal.lost, recording.journal.because = 3, "a full disk"
    recording.journal.sync()
    assert recording.journal.lost == 0
    assert b"a full disk" in recording.closed()[-1]
