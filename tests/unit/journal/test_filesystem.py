"""Where a mapped file is safe, and where only plain writes are."""

import os
from pathlib import Path

import pytest

from holter.journal import segment
from holter.journal.filesystem import file_system, keeps_reservations
from holter.journal.segment import MappedSegment, WrittenSegment, begin_segment


@pytest.mark.parametrize(("kind", "expected"), [("mapped", MappedSegment), ("written", WrittenSegment)])
def test_the_kind_of_segment_follows_the_file_system(
    kind: str, expected: type, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(segment, "keeps_reservations", lambda directory: kind == "mapped")
    made = begin_segment(str(tmp_path / "a.seg"), 4096, start=b"start")
    assert type(made) is expected
    assert os.path.getsize(tmp_path / "a.seg") == (4096 if kind == "mapped" else 5)
    made.close(5)
    assert (tmp_path / "a.seg").read_bytes() == b"start"


MOUNTS = """\
22 1 254:0 / / rw,relatime shared:1 - {root} /dev/root rw
30 22 0:25 / /dev/shm rw,nosuid shared:9 - tmpfs tmpfs rw
"""


@pytest.mark.parametrize("name", ["ext4", "xfs", "tmpfs"])
def test_local_file_systems_keep_reservations(name: str, tmp_path: Path) -> None:
    assert keeps_reservations(str(tmp_path), mountinfo=mounted_as(name, tmp_path))


@pytest.mark.parametrize("name", ["nfs4", "btrfs", "zfs", "overlay", "fuse.sshfs", "9p", "something-new"])
def test_other_file_systems_are_not_trusted_with_a_mapping(name: str, tmp_path: Path) -> None:
    assert not keeps_reservations(str(tmp_path), mountinfo=mounted_as(name, tmp_path))
    assert file_system(str(tmp_path), mountinfo=str(tmp_path / "missing")) == ""


def mounted_as(name: str, directory: Path) -> str:
    device = os.stat(directory).st_dev
    mounts = MOUNTS.format(root=name).replace("254:0", f"{os.major(device)}:{os.minor(device)}")
    (directory / "mountinfo").write_text(mounts)
    return str(directory / "mountinfo")
