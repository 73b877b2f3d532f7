"""On a file system that can share blocks, staging a copy takes none: seen on a real XFS."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

import holter
from holter.artifacts.asks import stage
from holter.artifacts.wishes import Source
from tests.artifacts.files import noise

MB = 1 << 20


@pytest.fixture
def xfs(tmp_path: Path) -> Iterator[Path]:
    if os.geteuid() or not os.path.exists("/dev/loop-control"):
        pytest.skip("not on this platform: only root may mount a file system")
    mkfs = shutil.which("mkfs.xfs", path=f"{os.environ['PATH']}:/usr/sbin:/sbin")
    assert mkfs, "mkfs.xfs is missing: scripts/system-packages installs it"
    image, path = tmp_path / "image", tmp_path / "disk"
    path.mkdir()
    with image.open("wb") as file:
        file.truncate(320 * MB)
    subprocess.run([mkfs, "-q", "-m", "reflink=1", str(image)], check=True)
    mounted = subprocess.run(
        ["mount", "-o", "loop", str(image), str(path)], capture_output=True, text=True, check=False
    )
    if mounted.returncode:
        pytest.skip(f"not on this platform: mount failed: {mounted.stderr.strip()}")
    yield path
    subprocess.run(["umount", "--lazy", str(path)], check=True)


def free(disk: Path) -> int:
    os.sync()
    found = os.statvfs(disk)
    return found.f_bfree * found.f_frsize


def test_a_staged_copy_shares_its_blocks_and_no_later_write(xfs: Path) -> None:
    path = xfs / "model.bin"
    path.write_bytes(noise(1, 64 * MB))
    before = free(xfs)
    (staged,) = stage([Source("model.bin", str(path))], str(xfs / "staged"))
    assert before - free(xfs) < 4 * MB
    assert os.stat(staged.at).st_ino != os.stat(path).st_ino
    with path.open("r+b") as file:
        file.write(b"changed")
    assert Path(staged.at).read_bytes() == noise(1, 64 * MB)


def test_what_is_written_over_the_same_name_is_not_in_the_version(xfs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOLTER_DIR", str(xfs / "holter"))
    monkeypatch.chdir(xfs)
    with holter.init(project="p", mode="offline") as run:
        Path("model.bin").write_bytes(b"a" * MB)
        logged = run.log_model("model.bin", "model")
        with open("model.bin", "r+b") as file:  # as torch.save does it: the same file, not a new one
            file.write(b"b" * MB)
        assert Path(logged.wait(60).file()).read_bytes() == b"a" * MB
