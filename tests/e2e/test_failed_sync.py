"""A real disk that takes nothing for a while: what `flush()` promises is there when the machine dies."""

import contextlib
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from holter.errors import NotSynced
from holter.journal import segment
from holter.storage.files.received import ReceivedRuns
from holter.storage.journals import Part
from tests.clocks import FakeClock
from tests.e2e.test_full_disk import MIB, mount, unmount
from tests.unit.journal.recording import Recording, read_rows
from tests.unit.server.remote import RemoteJournal


@pytest.fixture
def host(tmp_path: Path) -> Iterator[Path]:
    """A small memory disk, in which the image of a larger file system lies: it can be filled below that one's feet."""
    if os.geteuid() or not os.path.exists("/dev/loop-control"):
        pytest.skip("not on this platform: only root may mount a disk, and there must be loop devices")
    host, disk = tmp_path / "host", tmp_path / "disk"
    host.mkdir()
    disk.mkdir()
    mount("-t", "tmpfs", "-o", "size=4m", "tmpfs", str(host))
    with open(host / "image", "wb") as file:
        file.truncate(8 * MIB)
    mkfs = shutil.which("mkfs.ext4", path=f"{os.environ['PATH']}:/usr/sbin:/sbin")
    assert mkfs, "mkfs.ext4 is missing: scripts/system-packages installs it"
    # A file system without a journal of its own goes on after an error.
    command = [mkfs, "-q", "-O", "^has_journal", "-E", "lazy_itable_init=0,nodiscard", str(host / "image")]
    subprocess.run(command, check=True)
    mount("-o", "loop", str(host / "image"), str(disk))
    yield host
    unmount(disk, "--lazy")
    unmount(host, "--lazy")


def after_a_power_cut(host: Path, directory: str = "run") -> list[int]:
    """The steps that are there when the machine dies now: what has reached the image, on another machine."""
    copy, elsewhere = host.parent / "copy", host.parent / "elsewhere"
    shutil.copyfile(host / "image", copy)
    elsewhere.mkdir(exist_ok=True)
    mount("-o", "loop", str(copy), str(elsewhere))
    try:
        found = read_rows(*(path.read_bytes() for path in sorted((elsewhere / directory).glob("*.seg"))))
    finally:
        unmount(elsewhere)
    return [row.step for row in found]


@contextlib.contextmanager
def nothing_free(host: Path) -> Iterator[None]:
    """The image can't grow meanwhile."""
    ballast = host / "ballast"
    with open(ballast, "wb") as file:
        os.posix_fallocate(file.fileno(), 0, os.statvfs(host).f_bavail * os.statvfs(host).f_frsize)
    yield
    ballast.unlink()


@pytest.mark.parametrize("kind", ["mapped", "written"])
def test_a_flush_after_a_failed_one_brings_every_row_to_the_disk(
    host: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(segment, "keeps_reservations", lambda directory: kind == "mapped")
    recording = Recording(host.parent / "disk" / "run")
    for step in range(500):
        recording.log({"loss": step * 0.5}, step)
    with nothing_free(host):
        with pytest.raises(NotSynced, match=r"No space left on device|Input/output error"):
            recording.journal.sync()
        recording.log({"loss": 1.0}, 500)
    recording.journal.sync()
    assert after_a_power_cut(host) == list(range(501))
    recording.journal.close()


@pytest.mark.parametrize("count", [1, 4], ids=["one run", "many runs at once"])
def test_what_a_server_acknowledges_after_a_failed_sync_is_on_the_disk(host: Path, count: int) -> None:
    far = [RemoteJournal(host.parent / f"far{number}", f"r{number}", clock=FakeClock()) for number in range(count)]
    received = ReceivedRuns(str(host.parent / "disk" / "data"))
    have = [0] * count

    def send() -> list[object]:
        """Send the rest of each run, and believe what is acknowledged."""
        parts = [
            Part(run=each.run, name=each.id, offset=offset, data=each.stream()[offset:])
            for each, offset in zip(far, have, strict=True)
        ]
        answers = received.accept_all(parts)
        have[:] = [answer if isinstance(answer, int) else old for answer, old in zip(answers, have, strict=True)]
        return [*answers]

    for each in far:
        each.log(300)
    assert send() == [len(each.stream()) for each in far]
    for each in far:
        each.log(12_000)
    with nothing_free(host):
        assert not any(isinstance(answer, int) for answer in send())
    while have != [len(each.stream()) for each in far]:
        assert all(isinstance(answer, int) for answer in send())
    received.close()
    assert [after_a_power_cut(host, f"data/runs/{each.run}") for each in far] == [list(range(12_300))] * count
